"""A seed in JSON is read fast only where no field of its text is lost."""

import json

import msgspec
import pytest

from barnabas.broker.server.seeding.document import Seed
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.broker.server.seeding.json_text import json_values, whole_seed


def with_record(record: str) -> str:
    return f'{{"topics": [{{"name": "a", "records": [{record}]}}]}}'


WHOLE = [
    "{}",
    ' {\n\t"topics" : [ {"name" :"a"} ] }\n',
    with_record(r'{"key": "1", "value_json": {"id": 1, "a\"": [{"b": "c"}, {}]}, "headers": {"d": "e"}}'),
    with_record(r'{"value": "{\"a\": 1, \"a\" : \u00e9}\\", "timestamp": "2026-01-01T00:00:00Z"}'),
]
READ_SLOWLY = {
    "a field with its default": '{"version": 1}',
    "a quote as a number": with_record(r'{"value": "\u0022:"}'),
    "a colon as a number": with_record(r'{"value": "\"\u003A"}'),
    "half a character": with_record(r'{"value": "\ud800"}'),
    "no number": with_record('{"value_json": NaN}'),
}
TWICE = [
    '{"topics": [], "topics": []}',
    '{"topics" : [], "topics": []}',
    with_record('{"value": "x", "value": "x"}'),
    with_record('{"value_json": [{"a": {"b": 1, "b": 2}}]}'),
    with_record(r'{"value": "\"\u003a", "value": "\"\u003a"}'),
]


@pytest.mark.parametrize("text", WHOLE)
def test_a_text_without_losses_is_read_fast(text: str) -> None:
    assert whole_seed(text.encode()) == msgspec.convert(json.loads(text), Seed)


@pytest.mark.parametrize("text", READ_SLOWLY.values(), ids=READ_SLOWLY)
def test_what_cannot_be_counted_is_read_slowly(text: str) -> None:
    assert whole_seed(text.encode()) is None
    assert isinstance(msgspec.convert(json_values(text, "a.json"), Seed), Seed)


@pytest.mark.parametrize("text", TWICE)
def test_a_field_that_stands_twice_is_noticed(text: str) -> None:
    assert whole_seed(text.encode()) is None
    with pytest.raises(SeedError, match="stands twice in one object"):
        json_values(text, "a.json")
