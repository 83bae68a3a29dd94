"""One catalogue record as the value of a log record: uvarint frame (1), uvarint key, uvarint version, body.

Knows bytes and schemas, not the meaning of records. As strict as Kafka's reader: another frame, an unknown key, a
version above the schema's, and bytes behind the body raise a DecodeError that names the invalid value.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.protocol.codec.compile import Codec, codec
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.log_records import catalogue as schemas
from barnabas.protocol.primitives import read_uvarint, write_uvarint
from barnabas.protocol.records.builder import NewRecord, encode_records
from barnabas.storage.steps import AT_ONCE, Steps

FRAME_VERSION = 1

RECORD_TYPES: dict[int, type[Stored]] = {
    declared.__schema__.key: declared
    for declared in vars(schemas).values()
    if isinstance(declared, type) and issubclass(declared, Stored) and declared.__schema__.key is not None
}


class Versioned(NamedTuple):
    """A record and the version it is written in."""

    record: Stored
    version: int = 0


_codecs: dict[tuple[int, int], Codec[Stored]] = {}


def encode_record(versioned: Versioned) -> bytes:
    """Return the value of the log record."""
    key = versioned.record.__schema__.key
    assert key is not None, versioned.record
    out = bytearray()
    for number in (FRAME_VERSION, key, versioned.version):
        write_uvarint(out, number)
    codec(type(versioned.record), versioned.version).encode_into(versioned.record, out)
    return bytes(out)


class Encoded(NamedTuple):
    """Encoded records of one batch, independent of their offset."""

    records: Sequence[Stored]
    values: Sequence[bytes]
    """The value of each record."""
    area: bytes | bytearray
    """All records as they are stored in the batch."""


Change = Sequence[Versioned] | Encoded
"""The records of one batch."""


def encoded(versioned: Sequence[Versioned]) -> Steps[Encoded]:
    """Encode the records of one change, which may be very many, in steps."""
    values: list[bytes] = []
    area = bytearray()
    for first in range(0, len(versioned), AT_ONCE):
        some = [encode_record(each) for each in versioned[first : first + AT_ONCE]]
        area += encode_records([NewRecord(None, value, (), 0) for value in some], first=first)
        values += some
        if len(values) < len(versioned):
            yield
    return Encoded([each.record for each in versioned], values, area)


def decode_record(value: bytes | None) -> Stored:
    """Return the record in the value of a log record. Raise DecodeError if it is invalid."""
    if not value:
        raise DecodeError("a catalogue record without a value")
    if value[0] == FRAME_VERSION and len(value) > 3 and value[1] < 0x80 and value[2] < 0x80:
        key, version, position = value[1], value[2], 3  # all current records
    else:
        frame, position = read_uvarint(value, 0)
        if frame != FRAME_VERSION:
            raise DecodeError(f"catalogue record frame {frame}, only {FRAME_VERSION} is known")
        key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    known = _codecs.get((key, version)) or _find_codec(key, version)
    record, end = known.decode(value, position)
    if end != len(value):
        raise DecodeError(f"{len(value) - end} bytes behind a {known.struct.__name__}")
    return record


def _find_codec(key: int, version: int) -> Codec[Stored]:
    declared = RECORD_TYPES.get(key)
    if declared is None:
        raise DecodeError(f"unknown catalogue record key {key}")
    try:
        found = codec(declared, version)
    except ValueError as unknown:
        raise DecodeError(f"{declared.__name__} version {version} is not known") from unknown
    _codecs[key, version] = found
    return found
