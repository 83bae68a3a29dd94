"""The names of all files in a data directory, built and parsed only here.

meta.properties, *-checkpoint, .lock …          in the root
<topic>-<partition>/                            a partition; `.<32 hex>-delete` after it while it is being deleted
%020d.log .index .timeindex .txnindex .snapshot in a partition; `.deleted`, `.cleaned` or `.swap` after them
%020d-%010d.checkpoint                          a snapshot of the metadata log (offset, epoch)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

LOCK = ".lock"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
SEED_INCOMPLETE = "seed.incomplete"
"""In a directory whose broker has not finished to apply a seed: Barnabas alone writes it."""
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
UNCLEANABLE_PARTITIONS = "uncleanable-partitions"  # not Kafka's: those that the cleaner has excluded, and why

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
SEGMENT_CHECKSUMS = "segment-checksums"  # not Kafka's
QUORUM_STATE = "quorum-state"
CATALOGUE_END = "catalogue-end"  # not Kafka's: an offset checkpoint, the metadata log's end at the last clean stop

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
CONSUMER_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_GROUP_STATE_TOPIC = "__share_group_state"

TEMPORARY_SUFFIX = ".tmp"  # a file being written, to be renamed to its final name

TOPIC_NAME_MAX = 249  # characters
_DIRECTORY_NAME_MAX = 255  # bytes, the limit of file systems

_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_LOG_GIVEN_UP = re.compile(r"\d{20}\.log(\.\d+)?\.deleted")
_SEGMENT_FILE = re.compile(r"(\d{20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)(|\.deleted|\.cleaned|\.swap)")
_PARTITION_DIRECTORY = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(?:\.(?P<unique>[0-9a-f]{32})-(?P<state>\w+))?")
_METADATA_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class FileKind(Enum):
    """The content of a segment's file, by its suffix."""

    LOG = ".log"
    OFFSET_INDEX = ".index"
    TIME_INDEX = ".timeindex"
    TXN_INDEX = ".txnindex"
    PRODUCER_SNAPSHOT = ".snapshot"


class FileState(Enum):
    """The state of a segment's file, by its second suffix."""

    LIVE = ""
    DELETED = ".deleted"  # scheduled for removal
    CLEANED = ".cleaned"  # being written by the cleaner
    SWAP = ".swap"  # complete, about to replace the originals


_KINDS = {kind.value: kind for kind in FileKind}  # looked up several times for each name at an opening
_STATES = {state.value: state for state in FileState}


class SegmentFile(NamedTuple):
    """A file of a partition: its segment's base offset (for a snapshot: its offset), kind and state."""

    base_offset: int
    kind: FileKind
    state: FileState = FileState.LIVE

    @property
    def name(self) -> str:
        """The file's name, without a directory."""
        return f"{self.base_offset:020d}{self.kind.value}{self.state.value}"


class DirectoryState(Enum):
    """The state of a partition's directory, by the end of its name."""

    LIVE = ""
    DELETE = "delete"
    FUTURE = "future"  # being moved between log directories
    STRAY = "stray"  # on the disk but not in the catalogue


class PartitionDirectory(NamedTuple):
    """A partition's directory. `unique` is 32 hex digits in every state but LIVE."""

    topic: str
    partition: int
    state: DirectoryState = DirectoryState.LIVE
    unique: str = ""

    @property
    def name(self) -> str:
        """The directory's name. A topic too long for the file system is cut if the directory is not live."""
        if self.state is DirectoryState.LIVE:
            return f"{self.topic}-{self.partition}"
        tail = f"-{self.partition}.{self.unique}-{self.state.value}"
        return self.topic[: _DIRECTORY_NAME_MAX - len(tail)] + tail


def deleted(future: str) -> str:
    """Return the name of a directory that is being deleted, for one that was being moved between log directories."""
    return future.removesuffix(DirectoryState.FUTURE.value) + DirectoryState.DELETE.value


class MetadataSnapshot(NamedTuple):
    """A snapshot of the metadata log: everything below `end_offset`; `epoch` is that of the last record in it."""

    end_offset: int
    epoch: int

    @property
    def name(self) -> str:
        """The file's name, without a directory."""
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"


def segment_file(base_offset: int, kind: FileKind, state: FileState = FileState.LIVE) -> str:
    """Return the name of a partition's file: segment_file(42, FileKind.LOG) is `00000000000000000042.log`."""
    return f"{base_offset:020d}{kind.value}{state.value}"


def parse_segment_file(name: str) -> SegmentFile | None:
    """Return the parsed name, or None for a file that belongs to no segment."""
    found = _SEGMENT_FILE.fullmatch(name)
    return SegmentFile(int(found[1]), _KINDS[found[2]], _STATES[found[3]]) if found else None


def logs_given_up(names: Iterable[str]) -> set[int]:
    """Return the base offsets of the logs that wait to be removed, from the names in a partition's directory.

    Such a log is `.log.deleted`, or `.log.1.deleted` if another one that had its name waits, too.
    """
    return {int(name[:20]) for name in names if _LOG_GIVEN_UP.fullmatch(name)}


def first_given_up(names: Iterable[str]) -> int | None:
    """Return the lowest base offset of the `.deleted` files in a partition's directory, None without any."""
    given_up = (name for name in names if name.endswith(FileState.DELETED.value) and name[:20].isdecimal())
    return min((int(name[:20]) for name in given_up), default=None)


def partition_directory(topic: str, partition: int) -> str:
    """Return the name of a live partition's directory."""
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> PartitionDirectory | None:
    """Return the parsed name, or None for a directory without a partition. The partition is after the last dash."""
    topic, _, partition = name.rpartition("-")
    if partition.isdecimal() and is_topic_name(topic):  # live, as nearly all are: a start reads every name
        return PartitionDirectory(topic, int(partition))
    found = _PARTITION_DIRECTORY.fullmatch(name)
    if found is None or not is_topic_name(found["topic"]):
        return None
    state = found["state"] or ""
    if state not in (known.value for known in DirectoryState):
        return None
    return PartitionDirectory(found["topic"], int(found["partition"]), DirectoryState(state), found["unique"] or "")


def parse_metadata_snapshot(name: str) -> MetadataSnapshot | None:
    """Return offset and epoch of a metadata snapshot's name, or None."""
    found = _METADATA_SNAPSHOT.fullmatch(name)
    return MetadataSnapshot(int(found[1]), int(found[2])) if found else None


def is_topic_name(name: str) -> bool:
    """Return whether it is a valid topic name: 1 to 249 of a-z A-Z 0-9 . _ - and neither `.` nor `..`."""
    return len(name) <= TOPIC_NAME_MAX and name not in (".", "..") and _TOPIC_NAME.fullmatch(name) is not None
