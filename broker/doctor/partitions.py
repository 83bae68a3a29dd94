"""The partitions of a stopped data directory: would they open? Each is opened as a broker does, and changed by nothing.

Where opening would have to change something, as after a kill, it is left there: that is no damage. Reads what a start
after a clean stop reads of each partition, not the logs from end to end: `barnabas log verify` does that.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator

from barnabas.broker.catalogue.image import Image
from barnabas.broker.doctor.finding import Finding, problem
from barnabas.broker.doctor.look_only import LookOnlyFiles
from barnabas.protocol.files import names
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import File
from barnabas.storage.errors import CorruptFile, StorageError
from barnabas.storage.log_checkpoints import LogCheckpoints
from barnabas.storage.partition_metadata import read_topic_id
from barnabas.storage.recovery.loader import load_log
from barnabas.storage.recovery.opening import open_at_once

_CHECK = "partitions"


class _ReadableFiles(LookOnlyFiles):
    """As LookOnlyFiles, for code that opens files to write and then only reads them."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        if create:
            raise OSError(errno.EROFS, "only looked at", path)
        return super().open(path, read_only=True)

    def remove(self, path: str) -> None:
        """Indexes are removed before a log is read again: what is in the way is the log."""

    def sync_directory(self, path: str) -> None:
        """Nothing was changed."""


def examine(
    path: str, partitions: Iterable[TopicPartition], image: Image, *, tells_all_times: bool
) -> Iterator[Finding]:
    """A problem for each partition that is damaged. StorageError if the checkpoints are."""
    root = Directory(Disk(_ReadableFiles(), path), path)
    try:
        checkpoints = LogCheckpoints(root)
        was_clean = root.exists(names.CLEAN_SHUTDOWN)
        for key in sorted(partitions):
            topic = image.topics.get(key[0])
            if topic is None:
                continue
            is_compacted = "compact" in topic.configs.get("cleanup.policy", "")
            config = LogConfig(cleanup_policy=frozenset({"compact"})) if is_compacted else LogConfig()
            directory = root.subdirectory(names.partition_directory(*key))
            try:
                if read_topic_id(directory, topic.topic_id) not in (None, topic.topic_id):
                    continue  # another topic's: it is set aside
                checkpoint = checkpoints.of(key, was_clean=was_clean, tells_all_times=tells_all_times)
                for segment in open_at_once(load_log(directory, config, checkpoint, 0)).segments:
                    segment.log.close()
            except CorruptFile as error:
                advice = f"restore the file, or see what `barnabas log repair {path}` can keep"
                yield problem(_CHECK, f"{key[0]}-{key[1]} cannot be opened: {error.path}: {error.what}", advice)
            except StorageError:
                continue  # it would change something, or cannot be read now: a start will say so
    finally:
        root.disk.close()
