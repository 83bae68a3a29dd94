"""The partitions of a stopped data directory: can they be opened? Each is opened as in a broker, without any change.

If opening would have to change something, as after a kill, it stops there: that is no damage. Reads the same parts of
each partition as a start after a clean stop, not the whole logs: `barnabas log verify` does that.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping

from barnabas.broker.cli.doctor.finding import CheckResult, problem
from barnabas.broker.cli.doctor.read_only_files import ReadOnlyFiles
from barnabas.broker.metadata.image.image import Image, TopicImage
from barnabas.protocol.files import names
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.data_root import Inventory
from barnabas.storage.directories.log_checkpoints import LogCheckpoints
from barnabas.storage.directories.partition_metadata import read_topic_id
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import File
from barnabas.storage.errors import CorruptFile, StorageError
from barnabas.storage.recovery.log_loader import load_log
from barnabas.storage.recovery.missing_files import check_directory
from barnabas.storage.recovery.opening import open_at_once

_CHECK = "partitions"


class _ReadableFiles(ReadOnlyFiles):
    """A variant of LookOnlyFiles for code that opens files for writing and then only reads them."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        if create:
            raise OSError(errno.EROFS, "opened for reading only", path)
        return super().open(path, read_only=True)

    def remove(self, path: str) -> None:
        """Ignore the removal of indexes, which happens before a log is read again: the fault is in the log."""

    def sync_directory(self, path: str) -> None:
        """Do nothing, since nothing was changed."""


def examine(path: str, inventory: Inventory, image: Image, meta: MetaProperties) -> Iterator[CheckResult]:
    """Yield a problem for each partition that is damaged or missing. StorageError if the checkpoints are damaged."""
    root = Directory(Disk(_ReadableFiles(), path), path)
    try:
        checkpoints = LogCheckpoints(root)
        was_clean = root.exists(names.CLEAN_SHUTDOWN)
        for key in missing(checkpoints.synced, inventory, image.topics, meta):
            try:
                check_directory(f"{path}/{names.partition_directory(*key)}", checkpoints.recovery_point(key))
            except CorruptFile as error:
                yield _cannot_be_opened(path, key, error)
        for key in sorted(inventory.live):
            topic = image.topics.get(key[0])
            if topic is None:
                continue
            is_compacted = "compact" in topic.configs.get("cleanup.policy", "")
            config = LogConfig(cleanup_policy=frozenset({"compact"})) if is_compacted else LogConfig()
            directory = root.subdirectory(names.partition_directory(*key))
            try:
                if read_topic_id(directory, topic.topic_id) not in (None, topic.topic_id):
                    continue  # another topic's: a start sets it aside
                checkpoint = checkpoints.of(key, was_clean=was_clean, meta=meta)
                for segment in open_at_once(load_log(directory, config, checkpoint, 0)).segments:
                    segment.log.close()
            except CorruptFile as error:
                yield _cannot_be_opened(path, key, error)
            except StorageError:
                continue  # it would change something, or cannot be read now: a start will report it
    finally:
        root.disk.close()


def missing(
    synced: Iterable[TopicPartition], inventory: Inventory, topics: Mapping[str, TopicImage], meta: MetaProperties
) -> list[TopicPartition]:
    """Return keys of `synced` that the catalogue places here, but without a directory, even of a deletion or a move."""
    there = inventory.live.union(key for key, _ in (*inventory.given_up, *inventory.futures))
    found = []
    for key in sorted(each for each in synced if each not in there):
        topic = topics.get(key[0])
        place = topic.partitions[key[1]].directory_id if topic and key[1] < len(topic.partitions) else None
        if place is not None and place in (b"", meta.directory_id):
            found.append(key)
    return found


def _cannot_be_opened(path: str, key: TopicPartition, error: CorruptFile) -> CheckResult:
    advice = f"restore the file, or see what `barnabas log repair {path}` can keep"
    return problem(_CHECK, f"{key[0]}-{key[1]} cannot be opened: {error.path}: {error.what}", advice)
