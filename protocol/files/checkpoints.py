"""The small text and JSON files: offset checkpoints, leader epochs, partition.metadata, the clean-shutdown marker.

A checkpoint is a version line (0), a line with the number of entries, and a line each. In Barnabas the last line of an
offset checkpoint is the CRC-32C of the lines between, in the place of an offset: no topic can have its name, so
Apache Kafka ignores it, and writes the file without it. Otherwise a changed digit would be taken for another offset.
The writers of these files write them to a temporary name, sync, rename and sync the directory; that is not done here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import uuid_bytes, uuid_text
from barnabas.protocol.records.crc32c import crc32c

_VERSION = "0"
_CHECKSUM = "!crc32c"
_PLAIN_DIGITS_MAX = 20  # of a partition and an offset together; longer ones are parsed with all checks


class EpochEntry(NamedTuple):
    """From `start_offset` on, batches have this leader epoch or a later one."""

    epoch: int
    start_offset: int


def encode_offsets(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """Return an offset checkpoint: `topic partition offset` lines by (topic, partition); then the checksum, if any."""
    rows = [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
    return _encode([*rows, f"{_CHECKSUM} 0 {_checksum(rows)}"] if rows else rows)


def decode_offsets(data: bytes) -> dict[tuple[str, int], int]:
    """Return offsets by (topic, partition). An empty file is an empty checkpoint, as Kafka's for an idle cleaner."""
    offsets: dict[tuple[str, int], int] = {}
    rows = _decode(data, columns=3)
    if rows and rows[-1][1][0] == _CHECKSUM:
        last, (_, _, stored) = rows.pop()
        if _number(stored, last) != _checksum([line for line, _ in rows]):
            raise DecodeError(f"the checksum of the checkpoint is not {stored}: a row of it has changed")
    for line, (topic, partition, offset) in rows:
        if partition.isdecimal() and offset.isdecimal() and len(partition) + len(offset) <= _PLAIN_DIGITS_MAX:
            offsets[topic, int(partition)] = int(offset)  # a start reads as many rows as there are partitions
        else:
            offsets[topic, _number(partition, line)] = _number(offset, line)
    return offsets


def encode_leader_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """Return a leader-epoch-checkpoint: `epoch startOffset` per line."""
    return _encode([f"{epoch} {start_offset}" for epoch, start_offset in entries])


def decode_leader_epochs(data: bytes) -> list[EpochEntry]:
    """Return the entries in the file's order; DecodeError unless both columns increase (start offsets may repeat)."""
    entries = [EpochEntry(_number(epoch, line), _number(start, line)) for line, (epoch, start) in _decode(data, 2)]
    for before, after in pairwise(entries):
        if after.epoch <= before.epoch or after.start_offset < before.start_offset:
            raise DecodeError(f"leader epoch {after} does not come after {before}")
    return entries


def epoch_at(entries: Sequence[EpochEntry], offset: int) -> int | None:
    """Return the leader epoch of a batch at `offset` by these entries; None below the first."""
    found = bisect_right(entries, offset, key=lambda entry: entry.start_offset)
    return entries[found - 1].epoch if found else None


def encode_partition_metadata(topic_id: bytes) -> bytes:
    """Return a partition.metadata: the topic's id, so that a recreated topic never takes over old files."""
    return f"version: 0\ntopic_id: {uuid_text(topic_id)}\n".encode()


def decode_partition_metadata(data: bytes) -> bytes:
    """Return the 16 raw bytes of the topic id."""
    fields = dict(line.split(": ", 1) for line in _text(data).splitlines() if ": " in line)
    if fields.get("version") != _VERSION:
        raise DecodeError(f"partition.metadata version {fields.get('version')!r}")
    try:
        return uuid_bytes(fields.get("topic_id", "").strip())
    except ValueError as error:
        raise DecodeError(f"partition.metadata: {error}") from error


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    """Return the marker of a clean stop."""
    return f'{{"version":0,"brokerEpoch":{broker_epoch}}}'.encode()


def _checksum(rows: list[str]) -> int:
    return crc32c("\n".join(rows).encode())


def _encode(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (_VERSION, str(len(lines)), *lines)).encode()


def _decode(data: bytes, columns: int) -> list[tuple[str, list[str]]]:
    lines = _text(data).splitlines()
    if not lines:
        return []
    if lines[0].strip() != _VERSION:
        raise DecodeError(f"checkpoint version {lines[0]!r}")
    if len(lines) < 2:
        raise DecodeError("checkpoint without a count")
    if (count := _number(lines[1], lines[1])) != len(lines) - 2:
        raise DecodeError(f"checkpoint has a count of {count}, but {len(lines) - 2} entries")
    rows = [(line, line.split()) for line in lines[2:]]
    for line, row in rows:
        if len(row) != columns:
            raise DecodeError(f"checkpoint line {line!r} has {len(row)} columns instead of {columns}")
    return rows


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"not a text file: {error}") from error


def _number(text: str, line: str) -> int:
    if not text.removeprefix("-").isdecimal() or len(text) > 20:
        raise DecodeError(f"checkpoint line {line!r}: {text!r} is not a number")
    return int(text)
