"""Avro's binary encoding of plain values, in the forms to which `decoding` decodes.

A value of a union takes the first branch that it fits. A field that is not there has its default. Logical types are
text, or the number below.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, DecimalException
from typing import Any, cast
from uuid import UUID

from barnabas.registry.encoding.errors import UnencodableValue
from barnabas.registry.schemas.avro.model import (
    MISSING,
    AvroCollection,
    AvroEnum,
    AvroFixed,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from barnabas.registry.schemas.avro.schema import AvroSchema
from barnabas.registry.schemas.parsed_schema import ReferencedSchema

_BITS = {"int": 31, "long": 63}
_FLOATS = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}
_SHOWN = 80
_DIGITS_MAX = 1_200  # of a decimal
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def avro_encoder(text: str, references: Sequence[ReferencedSchema]) -> Callable[[Any], bytes]:
    """Return the encoder of a schema's values. Raises InvalidSchema."""
    type_ = AvroSchema(text, references, is_new=False).type

    def encode(value: Any) -> bytes:
        try:
            return _value(type_, value, "")
        except RecursionError:
            raise UnencodableValue("the value is nested too deeply") from None

    return encode


def _value(type_: AvroType, value: Any, where: str) -> bytes:
    type_ = type_.resolved
    if "logicalType" in type_.properties and not isinstance(value, bool | None):
        value = _below(type_, value)
    encoded = _WRITERS[type_.kind](type_, value, where)
    if encoded is None:
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
        raise UnencodableValue(f"{where.lstrip('.') or 'the value'} is no {type_.branch_name}: {shown}")
    return encoded


def _long(value: int) -> bytes:
    number, encoded = (value << 1) ^ (value >> 63), bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _whole(type_: AvroType, value: Any, _where: str) -> bytes | None:
    limit = 1 << _BITS[type_.kind]
    return _long(value) if type(value) is int and -limit <= value < limit else None


def _float(type_: AvroType, value: Any, _where: str) -> bytes | None:
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("NaN", "Infinity", "-Infinity")):
        return None
    try:
        return _FLOATS[type_.kind].pack(float(value))
    except OverflowError:
        return None


def _bytes(_type: AvroType, value: Any, _where: str) -> bytes | None:
    data = _data(value)
    return None if data is None else _long(len(data)) + data


def _fixed(type_: AvroType, value: Any, _where: str) -> bytes | None:
    data = _data(value)
    return data if data is not None and len(data) == cast(AvroFixed, type_).size else None


def _data(value: Any) -> bytes | None:
    """Return the bytes that a text has a character for each of."""
    if isinstance(value, bytes):
        return value
    return value.encode("latin-1") if isinstance(value, str) and all(ord(each) < 256 for each in value) else None


def _string(_type: AvroType, value: Any, _where: str) -> bytes | None:
    if not isinstance(value, str):
        return None
    data = value.encode("utf-8", "backslashreplace")
    return _long(len(data)) + data


def _symbol(type_: AvroType, value: Any, _where: str) -> bytes | None:
    symbols = cast(AvroEnum, type_).symbols
    return _long(symbols.index(value)) if value in symbols else None


def _branch(type_: AvroType, value: Any, where: str) -> bytes | None:
    failures = []
    for index, branch in enumerate(cast(AvroUnion, type_).branches):
        try:
            return _long(index) + _value(branch, value, where)
        except UnencodableValue as why:
            failures.append((branch.resolved.kind, why))
    inner = [why for kind, why in failures if kind == "record" and isinstance(value, dict)]
    if len(inner) == 1:
        raise inner[0]
    return None


def _record(type_: AvroType, value: Any, where: str) -> bytes | None:
    if not isinstance(value, dict):
        return None
    record = cast(AvroRecord, type_)
    unknown = value.keys() - {field.name for field in record.fields}
    if unknown:
        raise UnencodableValue(f"{record.name.full} has no field {min(map(str, unknown))}")
    parts = []
    for field in record.fields:
        given = value.get(field.name, field.default)
        if given is MISSING:
            raise UnencodableValue(f"{where}.{field.name}".lstrip(".") + " is missing, and has no default")
        parts.append(_value(field.type, given, f"{where}.{field.name}"))
    return b"".join(parts)


def _array(type_: AvroType, value: Any, where: str) -> bytes | None:
    if not isinstance(value, list):
        return None
    items = cast(AvroCollection, type_).values
    encoded = [_value(items, each, f"{where}[{index}]") for index, each in enumerate(value)]
    return (_long(len(value)) if value else b"") + b"".join(encoded) + b"\0"


def _map(type_: AvroType, value: Any, where: str) -> bytes | None:
    if not isinstance(value, dict):
        return None
    values = cast(AvroCollection, type_).values
    encoded = []
    for key, each in value.items():
        name = str(key).encode("utf-8", "backslashreplace")
        encoded.append(_long(len(name)) + name + _value(values, each, f"{where}.{key}"))
    return (_long(len(value)) if value else b"") + b"".join(encoded) + b"\0"


_WRITERS: dict[str, Callable[[AvroType, Any, str], bytes | None]] = {
    "null": lambda _type, value, _where: b"" if value is None else None,
    "boolean": lambda _type, value, _where: bytes([value]) if isinstance(value, bool) else None,
    **dict.fromkeys(_BITS, _whole),
    **dict.fromkeys(_FLOATS, _float),
    "bytes": _bytes,
    "string": _string,
    "fixed": _fixed,
    "enum": _symbol,
    "union": _branch,
    "record": _record,
    "array": _array,
    "map": _map,
}


def _below(type_: AvroType, value: Any) -> Any:
    """Return what stands for the value of a logical type; the value itself where it is none of these."""
    name = str(type_.properties["logicalType"])
    if name == "decimal" and type_.kind in ("bytes", "fixed"):
        return _unscaled(type_, value)
    if not isinstance(value, str):
        return value
    convert = _TEXTS.get((type_.kind, name))
    try:
        return value if convert is None else convert(value)
    except ValueError:
        return value


def _unscaled(type_: AvroType, value: Any) -> Any:
    scale = type_.properties.get("scale", 0)
    try:
        number = Decimal(str(value)).scaleb(scale, Context(prec=_DIGITS_MAX))
        if number != int(number):
            return value
        whole = int(number)
        size = type_.size if isinstance(type_, AvroFixed) else (whole.bit_length() + 8) // 8
        return whole.to_bytes(size, signed=True)
    except (DecimalException, OverflowError, TypeError, ValueError):
        return value


def _micros(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return ((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _time_micros(text: str) -> int:
    return (datetime.combine(_EPOCH.date(), time.fromisoformat(text), tzinfo=UTC) - _EPOCH) // _MICROSECOND


_TEXTS: dict[tuple[str, str], Callable[[str], Any]] = {
    ("fixed", "uuid"): lambda text: UUID(text).bytes,
    ("int", "date"): lambda text: (date.fromisoformat(text) - _EPOCH.date()).days,
    ("int", "time-millis"): lambda text: _time_micros(text) // 1000,
    ("long", "time-micros"): _time_micros,
    **{("long", f"{prefix}timestamp-millis"): lambda text: _micros(text) // 1000 for prefix in ("", "local-")},
    **{("long", f"{prefix}timestamp-micros"): _micros for prefix in ("", "local-")},
}
