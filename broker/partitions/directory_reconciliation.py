"""Reconciles at startup partitions that are not where the catalogue says: in no directory, or in another one.

Knows the catalogue and the data directories, before the first connection. The disk is right: a partition is where its
files are. With a single directory only strays are searched for, since every other check has to examine each partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.metadata.image.image import METADATA_VERSION
from barnabas.broker.metadata.image.topic_changes import DIRECTORIES_LEVEL
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC, partition_directory
from barnabas.storage.directories.partition_metadata import read_topic_id
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.image.image import Partition
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.storage.directories.log_directories import LogDirectories
    from barnabas.storage.directories.log_directory import LogDirectory

_log = logger("storage")


def reconcile_directories(partitions: Partitions, directories: LogDirectories, catalogue: Catalogue) -> None:
    """Set strays aside, and correct the directories in the catalogue. Raise KafkaError when it cannot be written."""
    _forget_stale_rows(partitions, directories)
    set_strays_aside(partitions, directories)
    _settle_moves(directories, catalogue)
    _report_missing(directories)
    if not directories.is_one:
        _warn_of_level(catalogue)
        _assign(directories, catalogue)
    missing = catalogue.places.elsewhere(each.directory_id for each in directories.members)
    if missing:
        _log.warning(line("partitions are offline: their data directories are not there", partitions=missing))


def _warn_of_level(catalogue: Catalogue) -> None:
    """Log an error about an old metadata.version and continue, as Kafka does."""
    level = catalogue.feature_level(METADATA_VERSION)
    if level < DIRECTORIES_LEVEL:
        _log.error(
            line(
                "several data directories are not supported in this metadata.version: "
                "it does not record in which of them a partition is",
                level=level,
                needed=DIRECTORIES_LEVEL,
            )
        )


def _forget_stale_rows(partitions: Partitions, directories: LogDirectories) -> None:
    """Remove rows that a kill left of partitions that were deleted, or moved: no directory of theirs is missing."""
    for each in directories.members:
        missing = each.resting.missing
        stale = [key for key in missing if not partitions.exists(*key) or directories.home(*key) is not None]
        try:
            each.forget(*stale)
        except StorageError as error:
            partitions.storage_failed(*stale[0], "forget", error)


def _report_missing(directories: LogDirectories) -> None:
    missing = sorted(key for each in directories.members for key in each.resting.missing)
    if missing:
        first = partition_directory(*missing[0])
        _log.error(line("partitions are refused: their directories are missing", partitions=len(missing), first=first))


def set_strays_aside(partitions: Partitions, directories: LogDirectories) -> None:
    """Rename directories of partitions that the catalogue does not contain: a kill interrupted their deletion."""
    strays = [key for key in directories.partitions if key[0] != CLUSTER_METADATA_TOPIC and not partitions.exists(*key)]
    for topic, partition in sorted(strays):
        try:
            directories.set_aside(topic, partition)
        except StorageError as error:
            partitions.storage_failed(topic, partition, "set aside", error)


def _settle_moves(directories: LogDirectories, catalogue: Catalogue) -> None:
    """Finish moves that were interrupted between their two renames, and remove incomplete copies.

    storage/directories/log_move.py describes the steps of a move.
    """
    for directory in directories.members:
        for (topic, number), future in directory.futures:
            found = catalogue.topics.get(topic)
            named = found.partitions[number] if found is not None and number < len(found.partitions) else None
            if found is None or named is None or directories.home(topic, number) is not None:
                directory.drop((topic, number), future)
            elif _is_place(directory, named, directories) and read_topic_id(future, found.topic_id) == found.topic_id:
                directory.take_in((topic, number), future)
                _log.warning(line("move of a partition finished", topic=topic, partition=number, data=directory.path))
            else:
                _log.warning(line("copy of a missing partition left unchanged", path=future.path))
                directory.checkpoints.forget((topic, number))  # its rows describe the copy, which stays


def _is_place(directory: LogDirectory, named: Partition, directories: LogDirectories) -> bool:
    """Return whether the catalogue names this directory, or names none and the partition cannot be anywhere else."""
    return named.directory_id == directory.directory_id or not (named.directory_id or directories.offline_count)


def _assign(directories: LogDirectories, catalogue: Catalogue) -> None:
    """Assign partitions to their directories in one batch, as Kafka's brokers do with AssignReplicasToDirs."""
    moved: dict[tuple[str, int], bytes] = {}
    for topic in catalogue.topics.values():
        for number, partition in enumerate(topic.partitions):
            home = directories.home(topic.name, number) or directories.missed_by(topic.name, number)
            if home is not None:
                if home.directory_id != partition.directory_id:
                    moved[topic.name, number] = home.directory_id
            elif not partition.directory_id:
                moved[topic.name, number] = catalogue.places.next()
    catalogue.assign(moved)
