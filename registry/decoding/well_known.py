"""Types that a .proto file may import without a reference: their fields, and the special forms that JSON has of some.

https://protobuf.dev/programming-guides/json
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.schemas.protobuf.model import ProtoField, ProtoMessage

_WRAPPED = {
    "DoubleValue": "double",
    "FloatValue": "float",
    "Int64Value": "int64",
    "UInt64Value": "uint64",
    "Int32Value": "int32",
    "UInt32Value": "uint32",
    "BoolValue": "bool",
    "StringValue": "string",
    "BytesValue": "bytes",
}
_FIELDS: dict[str, tuple[tuple[str, str, str], ...]] = {  # name, type and label of each, numbered from 1
    "Timestamp": (("seconds", "int64", ""), ("nanos", "int32", "")),
    "Duration": (("seconds", "int64", ""), ("nanos", "int32", "")),
    "Any": (("type_url", "string", ""), ("value", "bytes", "")),
    "FieldMask": (("paths", "string", "repeated"),),
    "Struct": (("fields", "map<string, google.protobuf.Value>", ""),),
    "Value": (
        ("null_value", "google.protobuf.NullValue", ""),
        ("number_value", "double", ""),
        ("string_value", "string", ""),
        ("bool_value", "bool", ""),
        ("struct_value", "google.protobuf.Struct", ""),
        ("list_value", "google.protobuf.ListValue", ""),
    ),
    "ListValue": (("values", "google.protobuf.Value", "repeated"),),
    "Empty": (),
    **{name: (("value", type_, ""),) for name, type_ in _WRAPPED.items()},
}
_PLAIN = {
    "google.type.Date": "int32 year, int32 month, int32 day",
    "google.type.TimeOfDay": "int32 hours, int32 minutes, int32 seconds, int32 nanos",
    "google.type.Money": "string currency_code, int64 units, int32 nanos",
    "google.type.LatLng": "double latitude, double longitude",
    "google.type.Decimal": "string value",
    "google.type.Fraction": "int64 numerator, int64 denominator",
    "google.type.Interval": "google.protobuf.Timestamp start_time, google.protobuf.Timestamp end_time",
    "google.type.Color": "float red, float green, float blue, google.protobuf.FloatValue alpha",
    "google.type.Quaternion": "double x, double y, double z, double w",
    "google.type.Expr": "string expression, string title, string description, string location",
    "confluent.type.Decimal": "bytes value, uint32 precision, int32 scale",
}


def _shape(name: str, fields: Iterable[tuple[str, str, str]]) -> ProtoMessage:
    numbered = [ProtoField(field, type_, number, label) for number, (field, type_, label) in enumerate(fields, 1)]
    return ProtoMessage(name.rpartition(".")[2], numbered)


SHAPES = {f"google.protobuf.{name}": _shape(name, fields) for name, fields in _FIELDS.items()} | {
    name: _shape(name, [(each.split()[1], each.split()[0], "") for each in fields.split(", ")])
    for name, fields in _PLAIN.items()
}
"""The messages by their full names."""
_DEFAULT_OF = {"double": 0.0, "float": 0.0, "bool": False, "string": "", "bytes": "", "int32": 0, "uint32": 0}


def special_form(name: str, values: dict[str, Any], decoded: Callable[[str, bytes], Any]) -> Any:
    """Return the special form of a message; the message itself if it has none. decoded: decodes what is in an Any."""
    simple = name.removeprefix("google.protobuf.")
    if simple in _WRAPPED:
        return values.get("value", _DEFAULT_OF.get(_WRAPPED[simple], "0"))
    if simple == "Struct":
        return values.get("fields", {})
    if simple == "ListValue":
        return values.get("values", [])
    if simple == "Value":
        return next(reversed(values.values()), None)
    if simple == "FieldMask":
        return ",".join(map(_camel_case, values.get("paths", ())))
    if simple in ("Timestamp", "Duration"):
        form = _timestamp if simple == "Timestamp" else _duration
        return form(int(values.get("seconds", 0)), values.get("nanos", 0))
    return _any(values, decoded) if simple == "Any" else values


def _timestamp(seconds: int, nanos: int) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        raise UndecodableValue(f"{seconds} s since 1970 are no time") from None
    return f"{moment.replace(tzinfo=None).isoformat()}{_fraction(nanos)}Z"


def _duration(seconds: int, nanos: int) -> str:
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def _fraction(nanos: int) -> str:
    """Return nothing, or a point with 3, 6 or 9 digits."""
    if not 0 <= nanos < 1_000_000_000:
        raise UndecodableValue(f"{nanos} ns are no part of a second")
    if not nanos:
        return ""
    digits = f"{nanos:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}"


def _camel_case(path: str) -> str:
    first, *rest = path.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _any(values: dict[str, Any], decoded: Callable[[str, bytes], Any]) -> Any:
    """Return the message within with its type; its bytes, if the type is not one of the schema's."""
    url, data = values.get("type_url", ""), values.get("value", "")
    try:
        inner = decoded(url.rpartition("/")[2], b64decode(data))
    except UndecodableValue:
        return {"@type": url, "value": data}
    return {"@type": url, **(inner if isinstance(inner, dict) else {"value": inner})}
