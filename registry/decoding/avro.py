"""Avro's binary encoding, read by the schema that it was written with.

Values become what Avro's JSON encoding has, but a union is its value alone: bytes are text with a character for each
byte, enums are their symbols. Logical types become text that people read: decimals, dates, times. Their rules, and
which are ignored, are those of the specification 1.12.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from barnabas.registry.decoding.bounds import DecodingBounds, finite
from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.schemas.avro.model import (
    AvroCollection,
    AvroEnum,
    AvroFixed,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from barnabas.registry.schemas.avro.schema import AvroSchema
from barnabas.registry.schemas.json_text import single_precision
from barnabas.registry.schemas.parsed_schema import ReferencedSchema

_MAX_VARINT = 10  # bytes
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_SCALE_MAX = 1_000
_DECIMAL_BYTES_MAX = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def avro_decoder(text: str, references: Sequence[ReferencedSchema]) -> Callable[[bytes], Any]:
    """Return the decoder of a schema's values. Raises InvalidSchema."""
    type_ = AvroSchema(text, references, is_new=False).type

    def decode(payload: bytes) -> Any:
        return _Reader(payload).value(type_, 0)

    return decode


class _Reader:
    """One message, and how far it is read."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self._bounds = DecodingBounds(data)
        self._readers: dict[str, Callable[[Any, int], Any]] = {
            "null": lambda _type, _depth: None,
            "boolean": lambda _type, _depth: self._take(1) != b"\0",
            "int": lambda _type, _depth: self._long(),
            "long": lambda _type, _depth: self._long(),
            "float": lambda _type, _depth: finite(single_precision(_FLOAT.unpack(self._take(4))[0])),
            "double": lambda _type, _depth: finite(_DOUBLE.unpack(self._take(8))[0]),
            "bytes": lambda _type, _depth: self._take(self._long()),
            "string": lambda _type, _depth: self._text(),
            "fixed": lambda type_, _depth: self._take(cast(AvroFixed, type_).size),
            "enum": self._symbol,
            "union": self._branch,
            "record": self._record,
            "array": self._array,
            "map": self._map,
        }

    def value(self, type_: AvroType, depth: int) -> Any:
        """Return the next value."""
        type_ = type_.resolved
        self._bounds.count(depth)
        found = self._readers[type_.kind](type_, depth + 1)
        if "logicalType" in type_.properties:
            found = _logical(type_, found)
        return found.decode("latin-1") if isinstance(found, bytes) else found

    def _record(self, type_: AvroRecord, depth: int) -> dict[str, Any]:
        return {field.name: self.value(field.type, depth) for field in type_.fields}

    def _array(self, type_: AvroCollection, depth: int) -> list[Any]:
        return [self.value(type_.values, depth) for _ in self._items()]

    def _map(self, type_: AvroCollection, depth: int) -> dict[str, Any]:
        return {self._text(): self.value(type_.values, depth) for _ in self._items()}

    def _items(self) -> Iterator[None]:
        """Yield for each item of an array or a map, block by block."""
        while count := self._long():
            if count < 0:
                count = -count
                self._long()  # the bytes of the block
            for _ in range(count):
                yield

    def _branch(self, type_: AvroUnion, depth: int) -> Any:
        return self.value(self._chosen(type_.branches, "branch of a union"), depth)

    def _symbol(self, type_: AvroEnum, _depth: int) -> str:
        symbol: str = self._chosen(type_.symbols, f"symbol of {type_.name.full}")
        return symbol

    def _chosen(self, choices: Sequence[Any], what: str) -> Any:
        index = self._long()
        if not 0 <= index < len(choices):
            raise UndecodableValue(f"there is no {what} with the number {index}")
        return choices[index]

    def _long(self) -> int:
        value = 0
        for shift in range(0, 7 * _MAX_VARINT, 7):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise UndecodableValue("a number has more than 64 bits")

    def _text(self) -> str:
        try:
            return self._take(self._long()).decode()
        except UnicodeDecodeError:
            raise UndecodableValue("a string is not UTF-8") from None

    def _take(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._data):
            raise UndecodableValue("the message ends early")
        found = self._data[self._position : end]
        self._position = end
        return found


def _logical(type_: AvroType, value: Any) -> Any:
    """Return the value of a logical type as text; as it is where the type or the value is none of these."""
    convert = _LOGICAL.get((type_.kind, str(type_.properties["logicalType"])))
    if convert is None:
        return value
    try:
        return convert(type_, value)
    except (OverflowError, ValueError):  # beyond the years of dates
        return value


def _decimal(type_: AvroType, data: bytes) -> Any:
    scale = type_.properties.get("scale", 0)
    if type(scale) is not int or not 0 <= scale <= _SCALE_MAX or not 0 < len(data) <= _DECIMAL_BYTES_MAX:
        return data
    unscaled = int.from_bytes(data, signed=True)
    digits = tuple(map(int, str(abs(unscaled))))
    return format(Decimal((int(unscaled < 0), digits, -scale)), "f")


def _moment(micros: int, zone: str) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat() + zone


def _time(micros: int) -> str:
    if not 0 <= micros < 86_400_000_000:
        raise ValueError("no time of a day")
    return (_EPOCH + timedelta(microseconds=micros)).time().isoformat()


_LOGICAL: dict[tuple[str, str], Callable[[AvroType, Any], Any]] = {
    ("bytes", "decimal"): _decimal,
    ("fixed", "decimal"): _decimal,
    ("fixed", "uuid"): lambda _type, data: str(UUID(bytes=data)),
    ("int", "date"): lambda _type, days: (date(1970, 1, 1) + timedelta(days=days)).isoformat(),
    ("int", "time-millis"): lambda _type, millis: _time(millis * 1000),
    ("long", "time-micros"): lambda _type, micros: _time(micros),
    ("long", "timestamp-millis"): lambda _type, millis: _moment(millis * 1000, "Z"),
    ("long", "timestamp-micros"): lambda _type, micros: _moment(micros, "Z"),
    ("long", "local-timestamp-millis"): lambda _type, millis: _moment(millis * 1000, ""),
    ("long", "local-timestamp-micros"): lambda _type, micros: _moment(micros, ""),
}
