"""Between a story's words and messages: a request out of a Node, an answer into one.

Names are those of the messages (`protocol/messages`). A field missing in a request has its default, and a field that
a version does not have is omitted, so that one text serves several versions. An answer shows every field without a
default, and the others where they differ from it; error codes are shown by name. Not shown: the words of error
messages, which each server chooses, and fields without meaning beside an error. The order of most rows and numbers has
no meaning, as it is that of a hash map in Kafka: they are in the order of their text. Those that Kafka orders stay in
its order.
"""

import re
from typing import Any

from barnabas.protocol.codec.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    MISSING,
    RECORDS,
    STRING,
    UUID,
    Field,
    FieldType,
    Struct,
)
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_acls import CreateAclsResponse
from barnabas.protocol.messages.delete_acls import DeleteAclsMatchingAcl, DeleteAclsResponse
from barnabas.protocol.messages.describe_acls import AclDescription
from barnabas.protocol.messages.describe_quorum import DescribeQuorumResponsePartitionData
from barnabas.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsResponsePartition
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.protocol.messages.read_share_group_state_summary import PartitionResult as ShareStateSummary
from barnabas.protocol.primitives import ZERO_UUID
from tests.support.probes import records
from tests.support.probes.names import Names
from tests.support.probes.tree import EMPTY_LIST, NULL, RUN, Node, items, listed, quoted, unquoted

_OMITTED = {"error_message", "acknowledge_error_message", "batch_index_error_message", "unknown_tags"}
_OMITTED_WITH_ERRORS = {"log_start_offset", "aborted_transactions"}
# Lists whose order is Kafka's word, too: what a fetch answers first was read first, and had the most room.
_IN_ORDER = {
    (FetchResponse, "responses"),
    (FetchableTopicResponse, "partitions"),
    (PartitionData, "aborted_transactions"),
    (CreateAclsResponse, "results"),
    (DeleteAclsResponse, "filter_results"),
}
# An address, or an epoch, that the story gave, not the server's own.
_SHOWN = {
    (AclDescription, "host"),
    (DeleteAclsMatchingAcl, "host"),
    (ShareStateSummary, "leader_epoch"),
    (DescribeShareGroupOffsetsResponsePartition, "leader_epoch"),
}
# Offsets that rise while nothing happens: Kafka's controller writes to its log every half second.
_RISING = {(DescribeQuorumResponsePartitionData, "high_watermark")}
_RISEN = "<offset>"
_EMPTY = "empty"
_NOTHING: tuple[Any, ...] = (None, [], ZERO_UUID)


def struct_of(node: Node, cls: type[Struct], version: int, names: Names) -> Any:
    """The struct that `node` writes. ValueError for a name that it does not have."""
    fields = {each.name: each for each in cls.__schema__.fields}
    if unknown := (node.fields.keys() | {name for name, _ in node.rows}) - fields.keys():
        raise ValueError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
    return cls(**{name: _value(node, each, version, names) for name, each in fields.items()})


def _value(node: Node, field: Field, version: int, names: Names) -> Any:
    rows = [row for name, row in node.rows if name == field.name]
    if not field.in_version(version):
        return field.default_value()
    if field.type.struct is not None and rows:
        return struct_of(rows[0], field.type.struct, version, names)
    if field.type.element is not None and field.type.element.struct is not None and rows:
        return [struct_of(row, field.type.element.struct, version, names) for row in rows]
    word = node.fields.get(field.name)
    if word is None:
        return field.default_value()
    value = _scalar(word, field.type, names)
    if word[0] not in "<{[":
        names.give(field.name, value)
    return value


def _scalar(word: str, kind: FieldType, names: Names) -> Any:
    if word == NULL:
        return None
    if kind.element is not None:
        return [_scalar(each, kind.element, names) for each in items(word)]
    if word.startswith("<"):
        return names.value(word)
    if word.startswith("{"):
        return records.evaluate(word, names)
    if kind is BOOL:
        return {"true": True, "false": False}[word]
    if kind is STRING:
        return unquoted(word)
    if kind in (BYTES, RECORDS, UUID):
        return bytes.fromhex(word[2:]) if word.startswith("0x") else unquoted(word).encode()
    return float(word) if kind is FLOAT64 else int(word)


def token_of(node: Node, names: Names) -> bytes:
    """The bytes of SASL that stand alone in a frame."""
    return bytes(_scalar(node.fields["auth_bytes"], BYTES, names))


def token_node(data: bytes, names: Names) -> Node:
    """The same of an answer."""
    return Node({"auth_bytes": _word("auth_bytes", data, BYTES, names)} if data else {})


def node_of(struct: Struct, version: int, names: Names) -> Node:
    """An answer as it is shown."""
    node = Node()
    _learn(struct, names)
    failed = bool(getattr(struct, "error_code", 0))
    for field in struct.__schema__.fields:
        is_shown = field.name not in _OMITTED and not (failed and field.name in _OMITTED_WITH_ERRORS)
        if is_shown and field.in_version(version):
            _describe(node, struct, field, version, names)
    return node


def _learn(struct: Struct, names: Names) -> None:
    """A topic's name beside its id."""
    name = getattr(struct, "name", None) or getattr(struct, "topic", None)
    topic_id = getattr(struct, "topic_id", None)
    if name and isinstance(name, str) and isinstance(topic_id, bytes) and any(topic_id):
        names.learn_topic(name, topic_id)


def _describe(node: Node, struct: Struct, field: Field, version: int, names: Names) -> None:
    value = getattr(struct, field.name)
    is_code = field.name.endswith("error_code")
    if value == field.default_value() and (field.default is not MISSING or value in _NOTHING):
        return
    if (type(struct), field.name) in _RISING and value > 0:
        node.fields[field.name] = _RISEN
    elif (type(struct), field.name) in _SHOWN:
        node.fields[field.name] = quoted(str(value))
    elif isinstance(value, Struct):
        node.rows.append((field.name, node_of(value, version, names)))
    elif isinstance(value, list) and value and isinstance(value[0], Struct):
        rows = [node_of(each, version, names) for each in value]
        is_in_order = (type(struct), field.name) in _IN_ORDER
        node.rows += [(field.name, row) for row in (rows if is_in_order else _joined(rows))]
    elif field.type is RECORDS and value is not None and len(value):
        node.rows += [(field.name, row) for row in records.rows(bytes(value), names)]
    else:
        node.fields[field.name] = _code(value) if is_code else _word(field.name, value, field.type, names)


def _joined(rows: list[Node]) -> list[Node]:
    """In the order of their text; rows that differ only in a number that counts up are shown as one."""
    rows = sorted(rows, key=_natural)
    found: list[Node] = []
    while rows:
        run = 1
        while run < len(rows) and _follows(rows[run - 1], rows[run]):
            run += 1
        if run >= RUN:
            number = next(iter(rows[0].fields))
            rows[0].fields[number] += f"..{rows[run - 1].fields[number]}"
        found += rows[:1] if run >= RUN else rows[:run]
        rows = rows[run:]
    return found


def _follows(row: Node, next_row: Node) -> bool:
    if not row.fields or not next_row.fields:
        return False
    (name, number), *rest = row.fields.items()
    (next_name, next_number), *next_rest = next_row.fields.items()
    counts_up = number.isdigit() and next_number == str(int(number) + 1) and name == next_name
    return counts_up and rest == next_rest and not row.rows and not next_row.rows


def _natural(node: Node) -> list[Any]:
    return _numbers(node.text())


def _numbers(text: str) -> list[Any]:
    """By the numbers in it, where there are some."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _code(value: int) -> str:
    try:
        return ErrorCode(value).name
    except ValueError:
        return str(value)


def _word(name: str, value: Any, kind: FieldType, names: Names) -> str:
    if value is None:
        return NULL
    if isinstance(value, list):
        element = kind.element
        assert element is not None
        return (
            listed(sorted((_word(name, each, element, names) for each in value), key=_numbers)) if value else EMPTY_LIST
        )
    if (named := names.word(name, value)) is not None:
        return named
    if kind is RECORDS:
        return _EMPTY
    if kind is BYTES:
        return quoted(value.decode()) if value.isascii() and value.decode().isprintable() else f"0x{value.hex()}"
    if kind is UUID:
        return f"0x{value.hex()}"
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)
