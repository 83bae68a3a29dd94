"""A .proto text is printed in Confluent's layout, normalized, and as a descriptor, from which it comes back."""

import base64

import pytest

from barnabas.registry.schemas.languages import parse
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema

TEXT = """
// A comment.
syntax = "proto3";
package a.b;
import "google/protobuf/timestamp.proto"; import public 'other.proto';
option java_package = "x.y"; option java_multiple_files = true;
enum Colour { option allow_alias = true; RED = 0; CRIMSON = 0 [deprecated = true]; BLUE = -1; }
/* Another. */
message Order {
  reserved 9, 12 to 14, 100 to max, "old", 'older';
  option deprecated = false;
  string name = 2 [json_name = "n", deprecated = true];   // trailing
  int64 id = 1;
  oneof way { Inner by = 4; other.Thing from = 3; }
  map<string, Inner> all = 5;
  optional Colour colour = 6;
  repeated google.protobuf.Timestamp when = 7 [packed=false];
  message Inner { bytes data = 1; enum Kind { NONE = 0; } }
  message Empty {};
}
service Shop { rpc Buy (stream Order) returns (Order.Inner) { option deprecated = true; }
  rpc Look (Order) returns (stream Order); }
"""
OTHER = ReferencedSchema("other.proto", "other", 1, 'syntax = "proto3"; package other; message Thing { string t = 1; }')
CANONICAL = """\
syntax = "proto3";
package a.b;

import "google/protobuf/timestamp.proto";
import public "other.proto";

option java_package = "x.y";
option java_multiple_files = true;

message Order {
  reserved 9, 12 to 14, 100 to max, "old", "older";

  option deprecated = false;

  string name = 2 [
    deprecated = true,
    json_name = "n"
  ];
  int64 id = 1;
  map<string, Inner> all = 5;
  optional Colour colour = 6;
  repeated google.protobuf.Timestamp when = 7 [packed = false];

  oneof way {
    Inner by = 4;
    other.Thing from = 3;
  }

  message Inner {
    bytes data = 1;
~~
    enum Kind {
      NONE = 0;
    }
  }
  message Empty {}
}
enum Colour {
  option allow_alias = true;
  RED = 0;
  CRIMSON = 0 [deprecated = true];
  BLUE = -1;
}

service Shop {
  rpc Buy (stream Order) returns (Order.Inner) {
    option deprecated = true;
  };
  rpc Look (Order) returns (stream Order);
}
""".replace("~", " ")  # an empty line within a message has its indentation
NORMALIZED = """\
syntax = "proto3";
package a.b;

import "google/protobuf/timestamp.proto";
import public "other.proto";

option java_multiple_files = true;
option java_package = "x.y";

message Order {
  reserved 9;
  reserved 12 to 14;
  reserved 100 to max;
  reserved "old";
  reserved "older";

  option deprecated = false;

  int64 id = 1;
  string name = 2 [
    deprecated = true,
    json_name = "n"
  ];
  map<string, .a.b.Order.Inner> all = 5;
  optional .a.b.Colour colour = 6;
  repeated .google.protobuf.Timestamp when = 7 [packed = false];

  oneof way {
    .other.Thing from = 3;
    .a.b.Order.Inner by = 4;
  }

  message Inner {
    bytes data = 1;
~~
    enum Kind {
      NONE = 0;
    }
  }
  message Empty {}
}
enum Colour {
  option allow_alias = true;
  BLUE = -1;
  CRIMSON = 0 [deprecated = true];
  RED = 0;
}

service Shop {
  rpc Buy (stream .a.b.Order) returns (.a.b.Order.Inner) {
    option deprecated = true;
  };
  rpc Look (.a.b.Order) returns (stream .a.b.Order);
}
""".replace("~", " ")


def test_a_text_is_printed_in_confluents_layout() -> None:
    assert parse("PROTOBUF", TEXT, [OTHER]).canonical_text == CANONICAL
    assert parse("PROTOBUF", CANONICAL, [OTHER]).canonical_text == CANONICAL


def test_a_normalized_text_has_names_in_full_and_numbers_in_order() -> None:
    assert parse("PROTOBUF", TEXT, [OTHER]).normalized_text == NORMALIZED
    assert parse("PROTOBUF", NORMALIZED, [OTHER]).normalized_text == NORMALIZED


def test_a_descriptor_is_read_back_as_what_it_describes() -> None:
    parsed = parse("PROTOBUF", TEXT, [OTHER])
    described = parse("PROTOBUF", parsed.formatted_text("serialized"), [OTHER])
    assert described.normalized_text == NORMALIZED
    assert not described.incompatibilities(parsed)
    assert not parsed.incompatibilities(described)
    assert "AllEntry" in described.canonical_text


@pytest.mark.parametrize(
    "described",
    [b"", b"\x0a\x01a\x62\x06proto4", b"\x0a\x01a\x72\x01\x01", b"\x0a\xff", b"\x22\x02\x0a\x00" * 3],
    ids=("nothing", "an unknown syntax", "an edition", "cut", "no name"),
)
def test_what_is_no_descriptor_is_refused(described: bytes) -> None:
    with pytest.raises(InvalidSchema, match="Syntax error"):
        parse("PROTOBUF", "=" + base64.b64encode(described).decode())


def test_options_keep_their_values() -> None:
    text = """\
syntax = "proto2";

import "google/protobuf/descriptor.proto";

option (x.flag) = {
  a: 1,
  b: [
    "t",
    "\\"u\\""
  ],
  c: {
    d: ENUM
  }
};
option (x.part).of.it = "v";

message M {
  optional int32 a = 1 [default = -7];
  optional string s = 2 [
    (x.field) = 1.50,
    default = "d"
  ];

  extensions 100 to 199;
}

extend google.protobuf.FieldOptions {
  optional double field = 50000;
}
"""
    parsed = parse("PROTOBUF", text)
    assert parsed.canonical_text == text
    assert "(x.field) = 1.5," in parsed.normalized_text
    assert 'option (x.part) = {\n  of: {\n    it: "v"\n  }\n};' in parsed.normalized_text
