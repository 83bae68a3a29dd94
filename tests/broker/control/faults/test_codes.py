"""Which error codes an API can give, held against recorded answers of Apache Kafka and against our responses."""

from collections import defaultdict

import pytest

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE, ApiRow
from barnabas.broker.api.error_responses import error_response
from barnabas.broker.control.faults.codes import codes_of
from barnabas.protocol.codec.schema import FieldType, Struct, default_instance
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.registry import ApiKey, response_codec, spec
from tests.support.probes.page import pages
from tests.support.probes.tree import Node

ROWS = (*API_TABLE, *TELEMETRY_TABLE)


def filled(struct: type[Struct]) -> Struct:
    """With one element in each list."""
    made: Struct = default_instance(struct)
    for field in struct.__schema__.fields:
        if field.type.element is not None:
            setattr(made, field.name, [_value(field.type.element)])
        elif field.type.name == "string":
            setattr(made, field.name, "x")
    return made


def _value(kind: FieldType) -> object:
    return filled(kind.struct) if kind.struct is not None else "x" if kind.name == "string" else kind.zero


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key.api_name)
def test_every_code_has_a_place_in_every_version(row: ApiRow) -> None:
    assert len(codes_of(row.key)) > 3
    for version in range(row.min_version, row.max_version + 1):
        for code in codes_of(row.key):
            answer = error_response(spec(row.key), version, filled(spec(row.key).request), code, None)
            assert answer is not None
            assert str(int(code)) in repr(answer) or code.name in repr(answer)
            response_codec(row.key, version).encode(answer)


_OF_EVERY_API = {"NONE", "ILLEGAL_SASL_STATE"}
"""The latter is what a connection is told that has not authenticated."""


def test_every_code_that_kafka_was_seen_to_answer_is_one_that_the_api_can_give() -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    for page in pages():
        for story in page.stories:
            for before, step in zip([None, *story.steps], story.steps, strict=False):
                if before is not None and not before.is_awaited:
                    continue  # the answers of both stand together
                for answer in step.answers:
                    if isinstance(answer.content, Node) and step.api:
                        seen[step.api] |= codes_in(answer.content)
    assert len(seen) > 40
    offered = {row.key.api_name: row.key for row in ROWS}
    missing = {
        api: sorted(names)
        for api, found in sorted(seen.items())
        if api in offered
        and (names := found - {code.name for code in codes_of(offered[api])} - {"NONE", "ILLEGAL_SASL_STATE"})
    }
    assert missing == {}


def codes_in(node: Node) -> set[str]:
    found = {
        word for name, word in node.fields.items() if name.endswith("error_code") and word in ErrorCode.__members__
    }
    return found.union(*(codes_in(row) for _, row in node.rows))


def test_codes_of_an_authorizer_follow_from_what_an_api_does() -> None:
    assert ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED in codes_of(ApiKey.END_TXN)
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED not in codes_of(ApiKey.END_TXN)
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED in codes_of(ApiKey.PRODUCE)
