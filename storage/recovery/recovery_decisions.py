"""The decisions about the files of a partition when it is opened: as tables, without touching a file.

Every case has a letter, which the golden stories of tests/golden/recovery/ use too. log_loader.py reads
the files, calls this module and acts on the result.

The rule behind the tables: below the recovery point everything was synced, so any damage there is a disk error that
must not be repaired by guessing. Above it, no written byte is lost when only the process dies; a power cut may tear it
anywhere, and unsynced data is then cut at the first damage, so that a prefix of the written data remains.
docs/formats/recovery.md documents the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import NamedTuple

from barnabas.protocol.files.names import TEMPORARY_SUFFIX, FileKind, FileState, SegmentFile, logs_given_up
from barnabas.storage.recovery.listing import Listing


class Trust(Enum):
    """How a segment is opened."""

    AS_IT_IS = "as it is"
    REREAD = "reread"  # every batch with its CRC; indexes, epochs and producer state are rebuilt from it


class Tail(Enum):
    """The state of the last bytes of a segment."""

    WHOLE = "whole"
    TORN = "torn"  # the file ends inside a batch, or in zeros: bytes that were never written
    BAD = "bad"  # bytes that are no batch, a CRC that does not fit, offsets that go back


class TailAction(Enum):
    """The action for a tail."""

    KEEP = "keep"
    CUT = "cut"
    SET_ASIDE = "set aside"  # copied to `.broken` first, then cut
    REFUSE = "refuse"  # the partition stays closed


ANY = None


class SegmentCase(NamedTuple):
    """A segment case. was_clean: the stop left its marker. is_synced: it ends at or below the recovery point."""

    letter: str
    was_clean: bool | None
    is_synced: bool | None
    has_indexes: bool | None
    decision: Trust
    why: str


class TailCase(NamedTuple):
    """A row of the tail table. is_synced: the damage begins in the synced part."""

    letter: str
    tail: Tail
    is_synced: bool | None
    decision: TailAction
    why: str


# fmt: off
SEGMENT_CASES = (
    #           clean  synced indexes
    SegmentCase("A", True,  ANY,   True,  Trust.AS_IT_IS, "a clean stop synced everything and trimmed the indexes"),
    SegmentCase("B", True,  ANY,   False, Trust.REREAD,   "an index is missing or untrimmed: the log can rebuild it"),
    SegmentCase("C", False, True,  True,  Trust.AS_IT_IS, "all before the recovery point is synced"),
    SegmentCase("D", False, True,  False, Trust.REREAD,   "its log was synced but an index is unusable: as B"),
    SegmentCase("E", False, False, ANY,   Trust.REREAD,   "nothing confirms that any of it reached the disk"),
)

TAIL_CASES = (
    TailCase("F", Tail.WHOLE, ANY,   TailAction.KEEP,      "nothing is wrong"),
    TailCase("G", Tail.TORN,  False, TailAction.CUT,       "the stop interrupted an unacknowledged append"),
    TailCase("H", Tail.BAD,   False, TailAction.SET_ASIDE, "a power cut tore unsynced pages"),
    TailCase("I", Tail.TORN,  True,  TailAction.REFUSE,    "synced bytes are missing"),
    TailCase("J", Tail.BAD,   True,  TailAction.REFUSE,    "synced bytes changed"),
)
# fmt: on


@cache
def trust_segment(*, was_clean: bool, is_synced: bool, has_indexes: bool) -> SegmentCase:
    """Return how to open a segment, with the reason."""
    seen = (was_clean, is_synced, has_indexes)
    (case,) = (case for case in SEGMENT_CASES if _fits(case[1:4], seen))
    return case


def decide_tail(tail: Tail, *, is_synced: bool) -> TailCase:
    """Return the action for a segment's end, with the reason."""
    (case,) = (case for case in TAIL_CASES if _fits(case[1:3], (tail, is_synced)))
    return case


def _fits(wanted: tuple[object, ...], seen: tuple[object, ...]) -> bool:
    return all(want is ANY or want == see for want, see in zip(wanted, seen, strict=True))


_HALF_SNAPSHOT = f"{FileKind.PRODUCER_SNAPSHOT.value}{TEMPORARY_SUFFIX}"
_INDEXES = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)


class Leftovers(NamedTuple):
    """Names to remove, then names to rename, to undo or finish interrupted work. `letters` are the cases."""

    removals: list[str]
    renames: list[tuple[str, str]]
    letters: str


def half_deleted(found: Listing) -> Leftovers:
    """Return K: indexes whose log is `.deleted` already. They are removed before it, or it would count as missing."""
    gone = logs_given_up(found.other_names)
    indexes = [file.name for file in found.without_log(*_INDEXES) if file.base_offset in gone] if gone else []
    return Leftovers(indexes, [], "K" if indexes else "")


def unfinished_files(found: Listing) -> Leftovers:
    """Return the files to remove before anything is opened.

    K: `.deleted` files are out of use already. L: a `.cleaned` file is half a segment, `.snapshot.tmp` half a snapshot.
    M: a `.swap` at or above the smallest `.cleaned` belongs to a split whose other half is missing.
    """
    deleted = [name for name in found.other_names if name.endswith(FileState.DELETED.value)]
    half = [name for name in found.other_names if name.endswith(_HALF_SNAPSHOT)]
    cleaned = [file for file in found.others if file.state is FileState.CLEANED]
    split_from = min((file.base_offset for file in cleaned), default=None)
    split = [
        file
        for file in found.others
        if file.state is FileState.SWAP and split_from is not None and file.base_offset >= split_from
    ]
    letters = ("K" if deleted else "") + ("L" if cleaned or half else "") + ("M" if split else "")
    return Leftovers([*deleted, *half, *(file.name for file in (*cleaned, *split))], [], letters)


def finished_swaps(found: Listing, end_offsets: Mapping[int, int]) -> Leftovers:
    """Return N: files that a complete `.swap` replaces are removed, and the swap takes their name.

    `end_offsets` gives, for each `.log.swap` by its base offset, the offset after its last batch.
    """
    swaps = [file for file in found.others if file.state is FileState.SWAP]
    if not swaps:
        return Leftovers([], [], "")
    replaced: list[str] = []
    if end_offsets:
        first, after = min(end_offsets), max(end_offsets.values())
        files = [SegmentFile(offset, kind) for kind, offsets in found.live.items() for offset in offsets]
        replaced = sorted(file.name for file in files if first <= file.base_offset < after)
    return Leftovers(replaced, [(swap.name, swap._replace(state=FileState.LIVE).name) for swap in swaps], "N")


def orphaned_indexes(found: Listing) -> Leftovers:
    """Return O: indexes without a log, which are useless."""
    orphans = [file.name for file in found.without_log(*_INDEXES)]
    return Leftovers(orphans, [], "O" if orphans else "")


def stray_snapshots(offsets: Iterable[int], segment_bases: Iterable[int], log_end_offset: int) -> list[int]:
    """Return the offsets of stray snapshots.
    P: snapshots above the log's end belong to a log that is gone. Q: those at no segment's base, except the newest,
    are from earlier clean stops.
    """
    offsets, bases = sorted(offsets), set(segment_bases)
    newest = max((offset for offset in offsets if offset <= log_end_offset), default=None)
    return [offset for offset in offsets if offset > log_end_offset or (offset not in bases and offset != newest)]


# Other cases, decided where they are found: R, S, T how producer state was rebuilt (producer_state_rebuild.py); U
# segments after a cut or a hole, V a log that ends below its start, X an empty last segment (log_loader.py); W a log
# that ends at another offset than before, Y missing segments, Z a missing directory (missing_files.py).
