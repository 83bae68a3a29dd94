# compiled: mypyc
"""Control records: transaction markers, and the key of every control record.

Key: i16 version (0), i16 type. A marker's value: i16 version (0), i32 coordinator epoch. Readers accept higher versions
and longer bodies (they read the known prefix) and refuse negative versions and short ones. The values of the
Raft types are separate messages, in barnabas.protocol.log_records.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BASE_TIMESTAMP_POSITION,
    CONTROL_MASK,
    CRC_POSITION,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_MASK,
    parse_header,
)
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.crc32c import crc32c
from barnabas.protocol.records.record import iter_records

_KEY: Final = struct.Struct(">hh")
_MARKER_VALUE: Final = struct.Struct(">hi")
END_TXN_MARKER_SIZE: Final = 78  # bytes of a whole marker batch
_MARKER_ATTRIBUTES: Final = TRANSACTIONAL_MASK | CONTROL_MASK
_MARKER_RECORD_START: Final = bytes((16 * 2, 0, 0, 0, _KEY.size * 2))  # length, attributes, deltas, length of key
_MARKER_BATCH: Final = struct.Struct(">qiibIhiqqqhii 5shh bhi b")  # header; record up to key, key, value, no headers
_pack_crc: Final = struct.Struct(">I").pack_into
_pack_offset_to_epoch: Final = struct.Struct(">qii").pack_into  # base offset, batch length, leader epoch
_pack_times_to_epoch: Final = struct.Struct(">qqqh").pack_into  # both timestamps, producer id and epoch
_pack_coordinator_epoch: Final = struct.Struct(">i").pack_into
_COORDINATOR_EPOCH_POSITION: Final = 73
_CONTROL_RECORD_BYTES_MAX: Final = 1 << 20


class ControlRecordType(IntEnum):
    """The type of a control record; UNKNOWN ones are ignored by readers."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTxnMarker(NamedTuple):
    """The end of one producer's transaction on one partition."""

    commit: bool
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    offset: int
    timestamp: int


def _unfilled_marker(kind: ControlRecordType) -> bytes:
    """Return a marker batch without the fields that differ from marker to marker."""
    # The fields in their order, several on a line.
    # fmt: off
    return _MARKER_BATCH.pack(
        0, 0, 0, MAGIC, 0, _MARKER_ATTRIBUTES, 0, 0, 0, 0, 0, NO_SEQUENCE, 1,
        _MARKER_RECORD_START, 0, kind, _MARKER_VALUE.size * 2, 0, 0, 0,
    )
    # fmt: on


_COMMIT_MARKER: Final = _unfilled_marker(ControlRecordType.COMMIT)
_ABORT_MARKER: Final = _unfilled_marker(ControlRecordType.ABORT)


def end_txn_marker(
    commit: bool,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """Return the 78-byte control batch that ends a transaction, as build_batch, faster."""
    batch = bytearray(_COMMIT_MARKER if commit else _ABORT_MARKER)
    _pack_offset_to_epoch(batch, 0, base_offset, END_TXN_MARKER_SIZE - LOG_OVERHEAD, leader_epoch)
    _pack_times_to_epoch(batch, BASE_TIMESTAMP_POSITION, timestamp_ms, timestamp_ms, producer_id, producer_epoch)
    _pack_coordinator_epoch(batch, _COORDINATOR_EPOCH_POSITION, coordinator_epoch)
    _pack_crc(batch, CRC_POSITION, crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
    return batch


class _LastMarker:
    """The marker that was encoded last, with its bytes; one pair, as brokers in two threads may change it."""

    __slots__ = ("pair",)

    def __init__(self) -> None:
        self.pair: tuple[EndTxnMarker | None, bytes] = (None, b"")


_last: Final = _LastMarker()


def marker_batch(marker: EndTxnMarker, base_offset: int, leader_epoch: int) -> bytearray:
    """Return the control batch of a marker, whose own offset is ignored: as end_txn_marker, faster.

    One is written for every partition of every transaction. All of one transaction are alike but for two fields, which
    the CRC does not cover: while the same marker comes again, only these are set in a copy.
    """
    last, encoded = _last.pair
    if marker is last:
        batch = bytearray(encoded)
        _pack_offset_to_epoch(batch, 0, base_offset, END_TXN_MARKER_SIZE - LOG_OVERHEAD, leader_epoch)
        return batch
    commit, producer_id, producer_epoch, coordinator_epoch, _, timestamp = marker
    batch = end_txn_marker(commit, producer_id, producer_epoch, coordinator_epoch, timestamp, base_offset, leader_epoch)
    _last.pair = (marker, bytes(batch))
    return batch


def control_batch(
    records: Sequence[tuple[ControlRecordType, bytes]],
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """Return a control batch of the Raft types, without a producer: (type, encoded value) in order."""
    rows = [NewRecord(control_key(kind), value, (), timestamp_ms) for kind, value in records]
    return build_batch(rows, base_offset=base_offset, leader_epoch=leader_epoch, control=True)


def control_key(kind: ControlRecordType) -> bytes:
    """Return the 4-byte key of a control record."""
    return _KEY.pack(0, kind)


def parse_control_key(key: bytes | None) -> ControlRecordType:
    """Return the type in a control record's key; UNKNOWN for undefined numbers."""
    if key is None or len(key) < _KEY.size:
        raise DecodeError(f"control record key {key!r} is too short")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise DecodeError(f"control record key version {version}")
    return ControlRecordType(kind) if 0 <= kind <= ControlRecordType.KRAFT_VOTERS else ControlRecordType.UNKNOWN


def parse_marker_value(value: bytes | None) -> int:
    """Return the coordinator epoch in the value of an ABORT or COMMIT record."""
    if value is None or len(value) < _MARKER_VALUE.size:
        raise DecodeError(f"transaction marker value {value!r} is too short")
    version, coordinator_epoch = _MARKER_VALUE.unpack_from(value)
    if version < 0:
        raise DecodeError(f"transaction marker value version {version}")
    return int(coordinator_epoch)


def read_marker(batch: Buffer) -> EndTxnMarker | None:
    """Return the marker in the control batch at the start of `batch`.
    None for other control types and for a batch emptied by compaction.
    """
    header = parse_header(batch)
    record = next(iter_records(batch, max_record_bytes=_CONTROL_RECORD_BYTES_MAX), None)
    if record is None:
        return None
    kind = parse_control_key(record.key)
    if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return None
    return EndTxnMarker(
        commit=kind == ControlRecordType.COMMIT,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        coordinator_epoch=parse_marker_value(record.value),
        offset=record.offset,
        timestamp=record.timestamp,
    )
