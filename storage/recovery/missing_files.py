"""Checks for missing parts of a partition: its directory, segments, the end of the log. Refusals, no changes.

Knows names and offsets; reads no file content. A shortened log would be served as if the lost records had never
existed, so if the files show that something is gone, the partition stays closed (cases W, Y and Z of
recovery_decisions.py).
"""

from __future__ import annotations

from barnabas.protocol.files.names import (
    LEADER_EPOCH_CHECKPOINT,
    SEGMENT_CHECKSUMS,
    FileKind,
    FileState,
    first_given_up,
    logs_given_up,
    segment_file,
)
from barnabas.storage.disk.checkpoints import LogCheckpoint
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile
from barnabas.storage.recovery.listing import Listing
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache

_BESIDE = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)


def check_directory(path: str, recovery_point: int | None) -> None:
    """Raise CorruptFile if a partition's directory, `path`, is missing and has a recovery point (Z)."""
    if recovery_point:
        raise CorruptFile(
            path,
            f"the directory is missing, but was synced up to offset {recovery_point}: its records are lost (case Z)",
        )


def check_segments(directory: Directory, found: Listing, synced: int) -> list[int]:
    """Raise CorruptFile if a segment between others has its indexes but not its log (Y).

    Code that removes a segment renames or removes its log last, or leaves it under another name. But a power cut may
    remove the name of a log that was never synced, and leave those of its indexes: the base offsets of such segments
    are returned, since the log ends at the first. synced: all below is on the disk.
    """
    without_log = found.without_log(*_BESIDE)
    live = found.live[FileKind.LOG]
    if not without_log or not live:
        return []
    names = found.other_names
    logs = {file.base_offset for file in found.others if file.kind is FileKind.LOG} | logs_given_up(names)
    logs |= {int(name[:20]) for name in names if name.endswith(".log.broken") and name[:20].isdecimal()}
    never_synced = set()
    for file in without_log:
        if file.base_offset not in logs and file.base_offset < max(live):
            if min(live) < file.base_offset and synced <= file.base_offset:
                never_synced.add(file.base_offset)
                continue
            path = directory.path_of(segment_file(file.base_offset, FileKind.LOG))
            raise CorruptFile(
                path, f"it is missing, but {file.name} exists: offsets from {file.base_offset} on are lost (case Y)"
            )
    return sorted(never_synced)


def check_first(
    directory: Directory, found: Listing, epochs: LeaderEpochCache, checkpoint: LogCheckpoint
) -> int | None:
    """Raise CorruptFile if the leader epochs begin below the first segment, and no deletion explains it (Y).

    Retention leaves `.deleted` files of the oldest segment until the leader epochs are written; earlier versions did
    not, and a kill may have left such a log. Returns the offset that the epochs must begin at before the files are
    removed, None if they do.
    """
    swaps = {file.base_offset for file in found.others if file[1:] == (FileKind.LOG, FileState.SWAP)}
    first = min(found.live[FileKind.LOG] | swaps, default=None)
    entries = epochs.entries
    if first is None or not entries:
        return None
    start = max(entries[0].start_offset, checkpoint.log_start_offset)
    if start >= first:
        return None
    given_up = first_given_up(found.other_names)
    if given_up is not None and given_up <= start:
        return first
    if not (checkpoint.was_clean or checkpoint.tells_log_start):
        return first
    raise CorruptFile(
        directory.path_of(segment_file(start, FileKind.LOG)),
        f"the first segment is missing: by {LEADER_EPOCH_CHECKPOINT} the log began at offset {start}, but the "
        f"first existing segment begins at {first} (case Y)",
    )


def check_between(directory: Directory, end_offset: int, base_offset: int, next_base_offset: int) -> None:
    """Raise CorruptFile if a former segment at `base_offset` is missing between two others (Y).

    They end and begin at these offsets. Without a hole between them the log was cut, which removed it, and extended.
    """
    if end_offset <= base_offset < next_base_offset:
        raise CorruptFile(
            directory.path_of(segment_file(base_offset, FileKind.LOG)),
            f"it is missing, by {SEGMENT_CHECKSUMS}: offsets {end_offset} to {next_base_offset - 1} are lost (case Y)",
        )


def check_end(path: str, end_offset: int, checkpoint: LogCheckpoint) -> None:
    """Raise CorruptFile if the log does not end where it did (W). `path`: its last segment."""
    recovery_point = checkpoint.recovery_point
    if end_offset < recovery_point:
        raise CorruptFile(
            path,
            f"the log ends at offset {end_offset}, but was synced up to {recovery_point}: offsets {end_offset} to "
            f"{recovery_point - 1} are lost (case W)",
        )
    if checkpoint.was_clean and end_offset > recovery_point > 0:
        raise CorruptFile(
            path, f"the log ends at offset {end_offset}, but was stopped cleanly at {recovery_point} (case W)"
        )
