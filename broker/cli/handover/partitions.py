"""Do the partitions on disk and in the catalogue agree, as Apache Kafka requires?

Kafka takes a directory without partition.metadata, or of another topic, for a stray: it renames it and begins an empty
partition. It does not elect a leader at once if the catalogue names another directory than the partition's. It
truncates leader epochs that the catalogue does not know. Each of these cases is found here, from names and small files
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from barnabas.broker.cli.doctor.finding import CheckResult, note, problem, warning
from barnabas.broker.cli.handover.stopped_directory import Root, Stopped
from barnabas.broker.metadata.image.image import Partition
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_leader_epochs, decode_offsets
from barnabas.protocol.files.names import (
    CLUSTER_METADATA_TOPIC,
    HIGH_WATERMARK_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    partition_directory,
)
from barnabas.storage.directories.partition_metadata import read_topic_id
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError

_CHECK = "partitions"
_NAMED_MAX = 5
_START_ONCE = "start and stop barnabas serve once, with all of the node's directories"


def examine(stopped: Stopped) -> list[CheckResult]:
    """Return findings about partitions that do not agree."""
    places = {place: root for root in stopped.roots for place in root.inventory.live}
    written = {place: end for root in stopped.roots for place, end in _ends(root.directory).items()}
    findings: list[CheckResult] = []
    unused, elsewhere = [], []
    for topic in stopped.image.topics.values():
        for number, partition in enumerate(topic.partitions):
            name = partition_directory(topic.name, number)
            root = places.pop((topic.name, number), None)
            if root is not None:
                findings += _compare(root, name, topic.topic_id, partition)
            elif _lies_elsewhere(partition, stopped.roots):
                elsewhere.append(name)
            elif written.get((topic.name, number)):
                says = f"{name} has records by the checkpoints, but no directory: Apache Kafka would start it empty"
                advice = "restore the directory, delete the topic, or see what `barnabas log repair` can do"
                findings.append(warning(_CHECK, says, advice))
            else:
                unused.append(name)
    if elsewhere:
        says = f"{_named(elsewhere)} in a data directory that was not given"
        findings.append(problem(_CHECK, says, "name all data directories of the node"))
    if unused:
        findings.append(note(_CHECK, f"{_named(unused)} without records: Apache Kafka creates the directories"))
    return [*findings, *_strays(places), *_unfinished(stopped.roots)]


def _compare(root: Root, name: str, topic_id: bytes, partition: Partition) -> Iterator[CheckResult]:
    directory = root.directory.subdirectory(name)
    aside = f"Apache Kafka would set {directory.path} aside as -stray and start the partition empty"
    try:
        found = read_topic_id(directory, topic_id)
        epoch = _last_epoch(directory)
    except (StorageError, DecodeError, OSError) as failed:
        yield problem(_CHECK, f"{name} cannot be read: {failed}")
        return
    if found is None:
        yield problem(_CHECK, f"{aside}, because it has no {PARTITION_METADATA}", _START_ONCE)
    elif found != topic_id:
        says = f"{aside}, because it belongs to an older topic of this name"
        yield problem(_CHECK, says, "move the directory away if its records are not needed")
    if partition.directory_id not in (b"", root.meta.directory_id):
        says = (
            f"{name} is in {root.directory.path}, but the catalogue has another directory for it: Kafka elects no "
            "leader at first"
        )
        yield problem(_CHECK, says, _START_ONCE)
    if epoch > partition.leader_epoch:
        says = (
            f"{name} has leader epoch {epoch}, the catalogue only {partition.leader_epoch}: Kafka would truncate the "
            "newer"
        )
        yield problem(_CHECK, says, "restore the catalogue and the partition from the same time")


def _ends(root: Directory) -> dict[tuple[str, int], int]:
    """Return the ends of the partitions by the last high watermark checkpoint; empty if it is missing or unreadable."""
    data = root.read(HIGH_WATERMARK_CHECKPOINT)
    try:
        return decode_offsets(data) if data else {}
    except DecodeError:
        return {}


def _last_epoch(directory: Directory) -> int:
    data = directory.read(LEADER_EPOCH_CHECKPOINT)
    entries = decode_leader_epochs(data) if data else []
    return entries[-1].epoch if entries else -1


def _lies_elsewhere(partition: Partition, roots: Iterable[Root]) -> bool:
    return bool(partition.directory_id) and partition.directory_id not in [root.meta.directory_id for root in roots]


def _strays(places: dict[tuple[str, int], Root]) -> Iterator[CheckResult]:
    names = [partition_directory(*place) for place in sorted(places) if place[0] != CLUSTER_METADATA_TOPIC]
    if names:
        says = f"{_named(names)} not in the catalogue: Apache Kafka renames them to -stray and leaves them alone"
        yield note(_CHECK, says)


def _unfinished(roots: Iterable[Root]) -> Iterator[CheckResult]:
    for root in roots:
        for _, each in root.inventory.given_up:
            yield note(_CHECK, f"{root.directory.path_of(each)} remains from a deletion: Apache Kafka removes it")
        for _, each in root.inventory.futures:
            path = root.directory.path_of(each)
            says = (
                "a copy of a move that did not finish: Barnabas removes it at the start, Apache Kafka renames it to "
                "-stray"
            )
            yield note(_CHECK, f"{path} is {says} and keeps it")
        for says in root.inventory.notices:
            yield note(_CHECK, says)


def _named(names: list[str]) -> str:
    """Return `a-0 is`, or `a-0, a-1 and 7 more are`."""
    if len(names) == 1:
        return f"{names[0]} is"
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{', '.join(names[:_NAMED_MAX])}{more} are"
