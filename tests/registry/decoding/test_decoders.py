"""Messages of confluent-kafka's serializers, recorded once with its version 2.16.1, and bytes that are no messages."""

from __future__ import annotations

import json

import pytest

from barnabas.registry.decoding.decoders import decoder_for
from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.decoding.framing import KEY_HEADER, VALUE_HEADER, framed, framed_part
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"]},
            {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
            {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 2}},
            {"name": "lines", "type": {"type": "array", "items": "Line"}},
            {"name": "tags", "type": {"type": "map", "values": ["int", "boolean"]}},
            {"name": "ref", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "next", "type": ["null", "Order"]},
        ],
    }
)
LINE = json.dumps(
    {
        "type": "record",
        "name": "shop.Line",
        "fields": [
            {"name": "sku", "type": "string"},
            {"name": "price", "type": "float"},
            {"name": "rate", "type": "double"},
        ],
    }
)
EVERYTHING = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";
import "google/protobuf/field_mask.proto";
message Envelope {
  message Head { string trace_id = 1; }
  message Body { Head head = 1; int64 size = 2; }
}
message Everything {
  enum State { NEW = 0; PAID = 1; }
  int32 a_int = 1; int64 a_long = 2; uint32 u = 3; uint64 ul = 4; sint32 s = 5; sint64 sl = 6;
  fixed32 f = 7; fixed64 fl = 8; sfixed32 sf = 9; sfixed64 sfl = 10; float real = 11; double big = 12;
  bool yes = 13; string text = 14; bytes raw = 15; State state = 16; repeated int32 numbers = 17;
  repeated string words = 18; map<string, int32> counts = 19; map<int64, Envelope.Head> heads = 20;
  oneof choice { string left = 21; int32 right = 22; }
  google.protobuf.Timestamp at = 23; google.protobuf.Duration took = 24; google.protobuf.Int64Value boxed = 25;
  google.protobuf.Struct free = 26; google.protobuf.Any any = 27; google.protobuf.FieldMask mask = 28;
  repeated State states = 29; Everything inner = 30; repeated double reals = 31; optional int32 zero = 32;
  map<bool, State> flags = 33;
}
"""
OF_EVERYTHING = r"""{
  "a_int": -5, "a_long": "-9007199254740993", "u": 4294967295, "ul": "18446744073709551615", "s": -7, "sl": "-8",
  "f": 9, "fl": "10", "sf": -11, "sfl": "-12", "real": 0.1, "big": 1e300, "yes": true, "text": "hü", "raw": "AP8=",
  "state": "PAID", "numbers": [1, -1, 300], "words": ["a", "b"], "counts": {"x": 1}, "heads": {"7": {"trace_id": "t"}},
  "right": 0, "at": "2026-11-30T06:30:00.123Z", "took": "-1.500s", "boxed": "64",
  "free": {"n": null, "l": [1, "a", true], "o": {"k": 2.5}},
  "any": {"@type": "type.googleapis.com/shop.Envelope.Head", "trace_id": "q"}, "mask": "aB,c",
  "states": ["PAID", "NEW"], "inner": {"text": "in"}, "reals": [1.5, "NaN"], "zero": 0, "flags": {"true": "NEW"}
}"""
DATE_TIME = 'import "google/type/datetime.proto"; message M { optional google.type.DateTime t = 1; }'
REFERENCES = {ORDER: [ReferencedSchema("shop.Line", "line", 1, LINE)]}
RECORDED = [
    pytest.param(
        "AVRO",
        ORDER,
        "00000000010d020668c3bc04fb2ee6c402f68aabb2c5680200ff040261cdcccc3d9a9999999999b93f0262000020c09c7500883ce4377e"
        "0004026e000a02620201004866383164346661652d376465632d313164302d613736352d30306130633931653662663600",
        {
            "id": -7,
            "note": "hü",
            "total": "-12.34",
            "day": "2026-11-30",
            "at": "2026-11-30T06:30:00.123000Z",
            "state": "PAID",
            "digest": "\x00ÿ",
            "lines": [{"sku": "a", "price": 0.1, "rate": 0.1}, {"sku": "b", "price": -2.5, "rate": 1e300}],
            "tags": {"n": 5, "b": True},
            "ref": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            "next": None,
        },
        id="avro-record",
    ),
    pytest.param("AVRO", '"string"', "00000000020a706c61696e", "plain", id="avro-string"),
    pytest.param("JSON", "{}", "00000000047b226964223a312c2278223a22c3bc227d", {"id": 1, "x": "ü"}, id="json"),
    pytest.param(
        "PROTOBUF",
        EVERYTHING,
        "0000000001020208fbffffffffffffffff0110ffffffffffffffefff0118ffffffff0f20ffffffffffffffffff01280d300f3d09000000"
        "410a000000000000004df5ffffff51f4ffffffffffffff5dcdcccc3d619c7500883ce4377e6801720368c3bc7a0200ff8001018a010d01"
        "ffffffffffffffffff01ac0292010161920101629a01050a01781001a20107080712030a0174b00100ba010b08e8afb4d80610c0a9d33a"
        "c2011608ffffffffffffffffff011080b6ca91feffffffff01ca01020840d2013f0a170a016f12122a100a0e0a016b1209110000000000"
        "0004400a1b0a016c121632140a0911000000000000f03f0a031a01610a0220010a070a016e12020800da012d0a26747970652e676f6f67"
        "6c65617069732e636f6d2f73686f702e456e76656c6f70652e4865616412030a0171e201080a03615f620a0163ea01020100f201047202"
        "696efa0110000000000000f83f000000000000f87f8002008a020408011000",
        json.loads(OF_EVERYTHING),
        id="protobuf-everything",
    ),
    pytest.param(
        "PROTOBUF",
        EVERYTHING,
        "00000000010400020a030a01741003",
        {"head": {"trace_id": "t"}, "size": "3"},
        id="protobuf-message-in-a-message",
    ),
]


@pytest.mark.parametrize(("schema_type", "text", "recorded", "value"), RECORDED)
def test_a_message_of_confluents_serializer_is_decoded(
    schema_type: str, text: str, recorded: str, value: object
) -> None:
    message = framed(bytes.fromhex(recorded))
    assert message is not None
    decoded = decoder_for(schema_type, text, REFERENCES.get(text, ()))(message.payload)
    assert decoded == value
    assert json.loads(json.dumps(decoded, allow_nan=False)) == value


@pytest.mark.parametrize(("schema_type", "text", "recorded", "value"), RECORDED)
def test_a_message_cut_or_changed_at_any_byte_is_decoded_or_refused_with_a_sentence(
    schema_type: str, text: str, recorded: str, value: object
) -> None:
    decode = decoder_for(schema_type, text, REFERENCES.get(text, ()))
    payload, refused = bytes.fromhex(recorded)[5:], 0
    wrong = [payload[:end] for end in range(len(payload))]
    wrong += [payload[:at] + b"\xff" + payload[at + 1 :] for at in range(len(payload))]
    for each in wrong:
        try:
            json.dumps(decode(each), allow_nan=False)
        except UndecodableValue as why:
            refused += "\n" not in str(why)
    assert refused > len(wrong) // 4, "of cut messages, most are refused"


@pytest.mark.parametrize(
    ("schema_type", "text", "payload", "why"),
    [
        ("AVRO", '{"type": "array", "items": "null"}', b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "more than 100,000"),
        ("AVRO", '{"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}', b"", "deeper than 64"),
        ("AVRO", '"string"', b"\x02\xff", "a string is not UTF-8"),
        ("AVRO", '"bytes"', b"\x01", "the message ends early"),
        ("AVRO", '"long"', b"\xff" * 10, "more than 64 bits"),
        ("AVRO", '["null"]', b"\x02", "no branch of a union with the number 1"),
        ("AVRO", '"bytes"', bytes(5 << 20), "more than 4,194,304 bytes"),
        ("JSON", "{}", b"[" * 100_000, "nested too deeply"),
        ("JSON", "{}", b"{", "no JSON"),
        ("PROTOBUF", EVERYTHING, b"\x02\x08", "no message with the indexes [4]"),
        ("PROTOBUF", EVERYTHING, b"\x01", "-1 indexes"),
        ("PROTOBUF", EVERYTHING, b"\x80", "have no end"),
        ("PROTOBUF", EVERYTHING, b"\x02\x02\x08", "no Protobuf: a varint has no end"),
        ("PROTOBUF", DATE_TIME, b"\0\x0a\0", "the fields of google.type.DateTime are not known"),
    ],
)
def test_what_is_no_message_or_too_much_is_refused(schema_type: str, text: str, payload: bytes, why: str) -> None:
    decode = decoder_for(schema_type, text)
    with pytest.raises(UndecodableValue) as refused:
        decode(payload)
    assert why in str(refused.value)


def test_protobuf_within_protobuf_has_a_greatest_depth() -> None:
    message = b""
    for _ in range(70):
        size = len(message)
        message = b"\x0a" + (bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])) + message
    with pytest.raises(UndecodableValue, match="deeper than 64"):
        decoder_for("PROTOBUF", "message M { optional M m = 1; }")(b"\0" + message)


@pytest.mark.parametrize(
    ("bits", "expected"),
    [("ffff7f7f", 3.4028235e38), ("cdcccc3d", 0.1), ("0000c07f", "NaN"), ("000080ff", "-Infinity")],
)
def test_a_float_is_the_shortest_number_or_text_where_json_has_none(bits: str, expected: float | str) -> None:
    assert decoder_for("AVRO", '"float"')(bytes.fromhex(bits)) == expected


def test_a_number_beyond_dates_stays_a_number() -> None:
    decode = decoder_for("AVRO", '{"type": "int", "logicalType": "date"}')
    assert decode(b"\xfe\xff\xff\xff\x0f") == 2**31 - 1


def test_a_schema_of_another_kind_has_no_decoder() -> None:
    with pytest.raises(InvalidSchema, match="THRIFT"):
        decoder_for("THRIFT", "struct S {}")


GUID = "34353f3d-2c0e-4b2e-a035-720d2b3b7134"
IN_A_HEADER = b"\x01" + bytes.fromhex(GUID.replace("-", ""))


@pytest.mark.parametrize(
    ("data", "header", "expected"),
    [
        (b"\0\0\0\1\0ab", None, (256, None, b"ab")),
        (IN_A_HEADER + b"ab", None, (None, GUID, b"ab")),
        (b"\5", IN_A_HEADER, (None, GUID, b"\5")),
        (b"rest", IN_A_HEADER + b"\x02\x02", (None, GUID, b"\x02\x02rest")),
        (b"\0\0\0\0\1x", b"no id", (1, None, b"x")),
        (b"\0\0\0\0", None, None),
        (b"\1" * 16, None, None),
        (b'{"a": 1}', None, None),
        (b"", None, None),
    ],
)
def test_the_schema_of_a_message_stands_before_it_or_in_a_header(
    data: bytes, header: bytes | None, expected: tuple[object, ...] | None
) -> None:
    found = framed(data, header)
    assert found == expected


def test_of_several_headers_the_last_one_names_the_schema() -> None:
    headers = [(VALUE_HEADER, b"\0\0\0\0\7"), (VALUE_HEADER, IN_A_HEADER), (KEY_HEADER, b"\0\0\0\0\7")]
    assert framed_part(b"\5", headers, VALUE_HEADER) == (None, GUID, b"\5")
    assert framed_part(None, headers, VALUE_HEADER) is None
