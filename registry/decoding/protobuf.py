"""Protobuf's encoding, read by a parsed .proto file, as Protobuf's JSON mapping has it.

Fields have their names of the file; those that are not in the message, or not in the file, are left out. Numbers of 64
bits are text, bytes are base64, and google.protobuf's own types have their special forms.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from barnabas.registry.decoding.bounds import DecodingBounds, finite
from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.decoding.well_known import SHAPES, special_form
from barnabas.registry.schemas.json_text import single_precision
from barnabas.registry.schemas.parsed_schema import ReferencedSchema
from barnabas.registry.schemas.protobuf import known, wire_format
from barnabas.registry.schemas.protobuf.model import SCALARS, ProtoEnum, ProtoField, ProtoMessage
from barnabas.registry.schemas.protobuf.schema import ProtobufSchema
from barnabas.registry.schemas.protobuf.types import ProtoTypes, within

_FIXED = {"fixed32": "<I", "sfixed32": "<i", "float": "<f", "fixed64": "<Q", "sfixed64": "<q", "double": "<d"}
_INDEXES_MAX = 64


class _Shape(NamedTuple):
    """A message type by its full name, with its fields by number, and the scope of the types that they name."""

    name: str
    fields: dict[int, ProtoField]


def protobuf_decoder(text: str, references: Sequence[ReferencedSchema]) -> Callable[[bytes], Any]:
    """Return the decoder of messages that a file defines: indexes, then the message. Raises InvalidSchema."""
    types = ProtobufSchema(text, references, is_new=False).types

    def decode(payload: bytes) -> Any:
        reader = _Reader(types, DecodingBounds(payload))
        name, start = _message_name(types, payload)
        try:
            return reader.message(name, payload[start:], 0)
        except (ValueError, struct.error) as error:
            raise UndecodableValue(f"the message is no Protobuf: {error}") from None

    return decode


def message_name(types: ProtoTypes, indexes: Sequence[int]) -> str:
    """Return the full name of the message at these places: of the file, then within the one before."""
    name, among = types.root.package, types.root.types
    for index in indexes:
        messages = [each for each in among if isinstance(each, ProtoMessage)]
        if not 0 <= index < len(messages):
            raise UndecodableValue(f"the schema has no message with the indexes {list(indexes)}")
        name, among = within(name, messages[index].name), messages[index].types
    return name


def _message_name(types: ProtoTypes, payload: bytes) -> tuple[str, int]:
    """Return the name of the message that a payload has, and where the message begins."""
    try:
        count, position = _zigzag(payload, 0)
        if not 0 <= count <= _INDEXES_MAX:
            raise UndecodableValue(f"the message has {count} indexes of its type")
        indexes = []
        for _ in range(count):
            index, position = _zigzag(payload, position)
            indexes.append(index)
    except ValueError:
        raise UndecodableValue("the indexes of the message's type have no end") from None
    return message_name(types, indexes or (0,)), position


def _zigzag(data: bytes, position: int) -> tuple[int, int]:
    value, position = wire_format.varint(data, position)
    return (value >> 1) ^ -(value & 1), position


class _Reader:
    """One message with all that is in it."""

    def __init__(self, types: ProtoTypes, bounds: DecodingBounds) -> None:
        self._types = types
        self._bounds = bounds
        self._shapes: dict[str, _Shape] = {}

    def message(self, name: str, data: bytes, depth: int) -> Any:
        """Return the message of a type."""
        self._bounds.count(depth)
        shape, found = self._shape(name), wire_format.decode(data)
        values = {
            field.name: self._field(field, name, found[number], depth + 1)
            for number, field in shape.fields.items()
            if number in found
        }
        return special_form(name, values, self._inner(depth)) if name.startswith("google.protobuf.") else values

    def _inner(self, depth: int) -> Callable[[str, bytes], Any]:
        """Return what decodes the message in an Any."""
        return lambda name, data: self.message(name, data, depth + 1)

    def _shape(self, name: str) -> _Shape:
        if name not in self._shapes:
            found = self._types.find(f".{name}", "")
            element = SHAPES.get(name, None if found is None else found.element)
            if not isinstance(element, ProtoMessage) or _is_known_by_name_only(element):
                raise UndecodableValue(f"the fields of {name[:200]} are not known")
            self._shapes[name] = _Shape(name, {field.tag: field for field in element.all_fields})
        return self._shapes[name]

    def _field(self, field: ProtoField, scope: str, given: list[int | bytes], depth: int) -> Any:
        entry = self._types.map_types(field.type, scope)
        if entry is not None:
            return dict(self._entries(entry, scope, given, depth))
        if field.label == "repeated":
            return [self._value(field.type, scope, each, depth) for each in self._unpacked(field.type, scope, given)]
        if all(isinstance(each, bytes) for each in given) and self._is_message(field.type, scope):
            return self._value(field.type, scope, b"".join(each for each in given if isinstance(each, bytes)), depth)
        return self._value(field.type, scope, given[-1], depth)

    def _is_message(self, type_: str, scope: str) -> bool:
        found = None if type_ in SCALARS else self._types.find(type_, scope)
        return found is not None and isinstance(found.element, ProtoMessage)

    def _entries(
        self, types: tuple[str, str], scope: str, given: list[int | bytes], depth: int
    ) -> Iterator[tuple[str, Any]]:
        key_type, value_type = types
        for each in given:
            self._bounds.count(depth)
            entry = wire_format.decode(_bytes(each))
            key = self._value(key_type, scope, entry[1][-1], depth) if 1 in entry else _DEFAULTS.get(key_type, "0")
            if 2 in entry:
                value = self._value(value_type, scope, entry[2][-1], depth + 1)
            elif self._is_message(value_type, scope):
                value = self._value(value_type, scope, b"", depth + 1)
            else:
                value = _DEFAULTS[value_type] if value_type in SCALARS else self._constant(value_type, scope, 0)
            yield (str(key).lower() if isinstance(key, bool) else str(key)), value

    def _unpacked(self, type_: str, scope: str, given: list[int | bytes]) -> Iterator[int | bytes]:
        """Yield the values of a repeated field, of which numbers may stand packed in one text."""
        is_number = type_ not in ("string", "bytes") and not self._is_message(type_, scope)
        size = struct.calcsize(_FIXED[type_]) if type_ in _FIXED else 0
        for each in given:
            if not is_number or isinstance(each, int) or len(each) == size:
                yield each
                continue
            position = 0
            while position < len(each):
                if size:
                    yield each[position : position + size]
                    position += size
                else:
                    number, position = wire_format.varint(each, position)
                    yield number

    def _value(self, type_: str, scope: str, value: int | bytes, depth: int) -> Any:
        self._bounds.count(depth)
        if type_ in SCALARS:
            return _scalar(type_, value)
        found = self._types.find(type_, scope)
        if found is None:
            raise UndecodableValue(f"the type {type_[:200]} is not known")
        if isinstance(found.element, ProtoEnum):
            return self._constant(type_, scope, _int(value))
        return self.message(found.name, _bytes(value), depth)

    def _constant(self, type_: str, scope: str, number: int) -> str | int | None:
        found = self._types.find(type_, scope)
        number = _signed(number, 32)
        if found is not None and found.name == "google.protobuf.NullValue":
            return None
        constants = found.element.constants if found is not None and isinstance(found.element, ProtoEnum) else ()
        return next((each.name for each in constants if each.tag == number), number)


def _is_known_by_name_only(message: ProtoMessage) -> bool:
    return any(message is each for file in known.files().values() for each in file.types)


_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("int64", "uint64", "sint64", "fixed64", "sfixed64"), "0"),
    **dict.fromkeys(("int32", "uint32", "sint32", "fixed32", "sfixed32"), 0),
    **dict.fromkeys(("string", "bytes"), ""),
    **dict.fromkeys(("double", "float"), 0.0),
    "bool": False,
}


def _scalar(type_: str, value: int | bytes) -> Any:
    if type_ == "string":
        return _bytes(value).decode()
    if type_ == "bytes":
        return b64encode(_bytes(value)).decode()
    if type_ == "bool":
        return _int(value) != 0
    if type_ in ("float", "double"):
        return _float(type_, _bytes(value))
    if type_ in _FIXED:
        number = struct.unpack(_FIXED[type_], _bytes(value))[0]
    elif type_.startswith("sint"):
        zigzag = _int(value) & ((1 << int(type_[-2:])) - 1)
        number = (zigzag >> 1) ^ -(zigzag & 1)
    else:
        bits = int(type_[-2:])
        number = _int(value) & ((1 << bits) - 1) if type_.startswith("u") else _signed(_int(value), bits)
    return str(number) if type_.endswith("64") else number


def _float(type_: str, data: bytes) -> float | str:
    value: float = struct.unpack(_FIXED[type_], data)[0]
    return finite(single_precision(value) if type_ == "float" else value)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ValueError("a number is expected")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("bytes are expected")
    return value
