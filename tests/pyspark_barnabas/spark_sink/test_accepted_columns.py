"""The columns that the sink takes, and the sentence for those that make no record."""

import pytest

from pyspark_barnabas.options import OptionError
from pyspark_barnabas.spark_sink.accepted_columns import choose

FULL = {
    "topic": "string",
    "partition": "int",
    "key": "binary",
    "value": "string",
    "headers": "array<struct<key:string,value:binary>>",
    "timestamp": "timestamp",
}


def test_every_column_of_a_record_is_written() -> None:
    assert choose(FULL, topic=None) == tuple(FULL)


def test_the_option_wins_over_the_column() -> None:
    assert "topic" not in choose(FULL, topic="orders")


def test_columns_that_belong_to_no_record_are_left_out() -> None:
    assert choose({"value": "binary", "offset": "bigint", "timestampType": "int"}, topic="orders") == ("value",)


@pytest.mark.parametrize(
    ("types", "topic", "sentence"),
    [
        ({"key": "string", "id": "bigint"}, "orders", "no column `value`; the columns are: key, id"),
        ({}, "orders", "the columns are: none"),
        ({"value": "string"}, None, "set the option topic, or add a column"),
        ({"value": "bigint"}, "orders", "`value` is bigint, and must be string or binary"),
        ({"value": "string", "key": "int"}, "orders", "`key` is int"),
        ({"value": "string", "partition": "bigint"}, "orders", "`partition` is bigint, and must be int"),
        ({"value": "string", "timestamp": "bigint"}, "orders", "`timestamp` is bigint"),
        ({"value": "string", "timestamp": "timestamp_ntz"}, "orders", "`timestamp` is timestamp_ntz"),
        ({"value": "string", "headers": "map<string,binary>"}, "orders", "`headers` is map<string,binary>"),
        ({"value": "string", "topic": "int"}, "orders", "`topic` is int"),
    ],
)
def test_columns_of_wrong_types_are_refused(types: dict[str, str], topic: str | None, sentence: str) -> None:
    with pytest.raises(OptionError) as refused:
        choose(types, topic)
    assert sentence in str(refused.value)
