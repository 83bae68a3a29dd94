"""Messages after an i16: the keys and values of the coordinators' logs.

    key     i16 type of the record, then the `…Key` struct (always its version 0)
    value   i16 version, then the `…Value` struct in that version

Types not known here are from a newer release and are skipped when a log is loaded; an unknown version of a known value
is an error. Unknown tagged fields are stored in the struct and written again.
"""

from collections.abc import Generator, Mapping
from typing import TypeVar

from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer

M = TypeVar("M", bound=Stored)


def encode_key(key: Stored) -> bytes:
    """Return the bytes of a log record's key."""
    record_type = type(key).__schema__.key
    if record_type is None:
        raise ValueError(f"{type(key).__name__} is not a key")
    return record_type.to_bytes(2, "big") + codec(type(key), 0).encode(key)


def decode_key(keys: Mapping[int, type[Stored]], data: Buffer) -> Stored | None:
    """Return the key in `data` as one of `keys` (by type); None for a type that is not among them."""
    struct = keys.get(_prefix(data))
    if struct is None:
        return None
    return codec(struct, 0).decode(data, 2)[0]


def encode_value(value: Stored, version: int) -> bytes:
    """Return the bytes of a log record's value in `version`."""
    return version.to_bytes(2, "big") + codec(type(value), version).encode(value)


def encode_value_in_steps(value: Stored, version: int) -> Generator[None, None, bytes]:
    """Return the bytes of a value like `encode_value`, with a pause after each array's element."""
    out = bytearray(version.to_bytes(2, "big"))
    yield from codec(type(value), version).encode_in_steps(value, out)
    return bytes(out)


def decode_value(struct: type[M], data: Buffer) -> M:
    """Return the value in `data`. DecodeError for damaged bytes and for unknown versions."""
    version = _prefix(data)
    if version not in struct.__schema__.valid_versions:
        raise DecodeError(f"{struct.__name__} has no version {version}, only {struct.__schema__.versions}")
    return codec(struct, version).decode(data, 2)[0]


def _prefix(data: Buffer) -> int:
    if len(data) < 2:
        raise DecodeError(f"{len(data)} bytes cannot hold a type or version")
    return int.from_bytes(data[:2], "big", signed=True)
