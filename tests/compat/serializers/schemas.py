"""Three versions of an order in each language: the second can read the first, the third can read neither."""

from __future__ import annotations

import json

_AVRO = (
    [{"name": "amount", "type": "long"}],
    [{"name": "amount", "type": "long"}, {"name": "note", "type": "string", "default": ""}],
    [{"name": "amount", "type": "long"}, {"name": "customer", "type": "string"}],
)
_JSON = (
    {"amount": {"type": "integer"}},
    {"amount": {"type": "integer"}, "note": {"type": "string"}},
    {"amount": {"type": "string"}},
)
_PROTOBUF = ("int64 amount = 1;", "int64 amount = 1;\n  string note = 2;", "string amount = 1;")
_PROTO = 'syntax = "proto3";\npackage shop;\n\nmessage Order {{\n  {}\n}}\n'
AVRO = tuple(json.dumps({"type": "record", "name": "Order", "fields": fields}) for fields in _AVRO)
JSON = tuple(
    json.dumps({"title": "Order", "type": "object", "properties": properties, "additionalProperties": False})
    for properties in _JSON
)
PROTOBUF = tuple(_PROTO.format(fields) for fields in _PROTOBUF)
SCHEMAS = {"AVRO": AVRO, "JSON": JSON, "PROTOBUF": PROTOBUF}
ORDERS: tuple[dict[str, object], ...] = ({"amount": 1}, {"amount": 2, "note": "new"})
