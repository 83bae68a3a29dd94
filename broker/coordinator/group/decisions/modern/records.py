# compiled: mypyc
"""The records of modern groups in `__consumer_offsets`: a declared key with its declared value, in either direction.

Modern groups are those to which the coordinator assigns partitions: consumer, share and streams groups. The structs are
declared in `protocol/log_records/`; every value is written in its version 0, and a value of None is a tombstone.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import group, share_group
from barnabas.protocol.log_records.streams_group import STREAMS_GROUP_KEYS, STREAMS_GROUP_VALUES
from barnabas.protocol.log_records.versioned_messages import (
    decode_value,
    encode_key,
    encode_value,
    encode_value_in_steps,
)
from barnabas.storage.steps import Steps

_VERSION = 0
_LARGE_BYTES = 32 << 10  # a target of some thousand topics: encoding and replay take some milliseconds
_CLASSIC_TYPES = (0, 1, 2)

_KEYS_BY_TYPE = {**group.KEYS, **share_group.KEYS, **STREAMS_GROUP_KEYS}
_VALUES_BY_TYPE = {**group.VALUES, **share_group.VALUES, **STREAMS_GROUP_VALUES}
KEYS: dict[int, type[Stored]] = {number: key for number, key in _KEYS_BY_TYPE.items() if number not in _CLASSIC_TYPES}
_VALUES: dict[type[Stored], type[Stored]] = {key: _VALUES_BY_TYPE[number] for number, key in KEYS.items()}


class KeyedRecord(NamedTuple):
    """One record of a modern group."""

    key: Stored
    value: Stored | None
    bytes_of_both: tuple[bytes, bytes | None] | None = None
    """Key and value in encoded form, if they were encoded before."""


def encoded(record: KeyedRecord) -> KeyedRecord:
    """Return the record with its bytes: for a batch of many records they are encoded in steps. Raises EncodeError."""
    return record._replace(bytes_of_both=encode(record))


def encoded_in_steps(record: KeyedRecord) -> Steps[KeyedRecord]:
    """Return one record with its bytes, encoded in steps: for one with a very long list. Raises EncodeError."""
    assert record.value is not None, "a tombstone is short"
    value = yield from encode_value_in_steps(record.value, _VERSION)
    return record._replace(bytes_of_both=(encode_key(record.key), value))


def is_large(record: object) -> bool:
    """Return whether the record was encoded before and is large: then its replay takes long, too."""
    both = record.bytes_of_both if isinstance(record, KeyedRecord) else None
    return both is not None and len(both[1] or b"") > _LARGE_BYTES


def encode(record: KeyedRecord) -> tuple[bytes, bytes | None]:
    """Return key and value. Raises EncodeError for names that do not fit the format."""
    if record.bytes_of_both is not None:
        return record.bytes_of_both
    return encode_key(record.key), None if record.value is None else encode_value(record.value, _VERSION)


def decode(key: Stored, value: bytes | None) -> KeyedRecord:
    """Return the record of a key that is one of KEYS. Raises DecodeError if the value is corrupt."""
    return KeyedRecord(key, None if value is None else decode_value(_VALUES[type(key)], value))
