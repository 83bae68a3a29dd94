"""Confluent's wire format: which schema the bytes of a key or value have.

A zero byte and the schema's id in 4 bytes stand before the value; or a byte 1 and the 16 bytes of the schema's guid,
there or, as newer serializers can do, in a header of the record. In Protobuf the indexes of the message follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

KEY_HEADER, VALUE_HEADER = "__key_schema_id", "__value_schema_id"
_WITH_ID, _WITH_GUID = 0, 1
_ID_END, _GUID_END = 5, 17


class Framed(NamedTuple):
    """A message: the id or the guid of its schema, and what follows."""

    schema_id: int | None
    guid: str | None
    payload: bytes

    @property
    def schema(self) -> int | str:
        """The id, or the guid."""
        schema = self.guid if self.schema_id is None else self.schema_id
        assert schema is not None, "a message has one of both"
        return schema

    @property
    def schema_name(self) -> str:
        """The schema, as a sentence names it."""
        return f"id {self.schema_id}" if self.guid is None else f"guid {self.guid}"


def framed_part(data: bytes | None, headers: Sequence[tuple[str, bytes | None]], name: str) -> Framed | None:
    """Return the parts of a record's key or value; None if it is not in the format.

    name: KEY_HEADER or VALUE_HEADER. Of several headers with it the last one counts.
    """
    header = next((value for each, value in reversed(headers) if each == name), None)
    return None if data is None else framed(bytes(data), header)


def framed(data: bytes, header: bytes | None = None) -> Framed | None:
    """Return the parts of a message; None if it is not in the format.

    header: the value of the record's header for the schema (KEY_HEADER, VALUE_HEADER), which counts more.
    """
    for start, rest in ((header, data), (data, b"")):
        if start and start[0] == _WITH_GUID and len(start) >= _GUID_END:
            return Framed(None, str(UUID(bytes=start[1:_GUID_END])), start[_GUID_END:] + rest)
        if start and start[0] == _WITH_ID and len(start) >= _ID_END:
            return Framed(int.from_bytes(start[1:_ID_END]), None, start[_ID_END:] + rest)
    return None


def with_id(schema_id: int, payload: bytes) -> bytes:
    """Return a message whose schema has this id."""
    return bytes([_WITH_ID]) + schema_id.to_bytes(4) + payload
