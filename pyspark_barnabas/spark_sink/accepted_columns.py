"""The columns that the sink accepts, and their types: those of Spark's own Kafka sink, and `timestamp`.

    value       string or binary, required; null is a tombstone
    key         string or binary; null or missing: any partition
    topic       string; required unless the option `topic` is given, which wins
    partition   int; null or missing: by the key
    headers     array<struct<key: string, value: binary>>
    timestamp   timestamp; null or missing: the time of writing

Other columns are not written. Types are named by Spark's short names (DataType.simpleString).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark_barnabas.options import OptionError

_HEADERS = "array<struct<key:string,value:binary>>"
TYPES: dict[str, tuple[str, ...]] = {
    "topic": ("string",),
    "partition": ("int",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (_HEADERS,),
    "timestamp": ("timestamp",),
}


def choose(types: Mapping[str, str], topic: str | None) -> tuple[str, ...]:
    """Return the columns to write, of the given ones (name to type). Raise OptionError if they make no record."""
    if "value" not in types:
        there = ", ".join(types) or "none"
        raise OptionError(
            f"there is no column `value`; the columns are: {there}. Add one, as in"
            " selectExpr('CAST(id AS STRING) AS key', 'to_json(struct(*)) AS value')"
        )
    if topic is None and "topic" not in types:
        raise OptionError("the rows have no topic: set the option topic, or add a column `topic`")
    for column, allowed in TYPES.items():
        found = types.get(column)
        if found is not None and found not in allowed:
            raise OptionError(
                f"the column `{column}` is {found}, and must be {' or '.join(allowed)}: cast it, or rename it"
            )
    return tuple(column for column in TYPES if column in types and not (column == "topic" and topic is not None))


def types_of(schema: Any) -> dict[str, str]:
    """Return names and short type names of a Spark schema (StructType)."""
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def only(batches: Iterator[Any], columns: tuple[str, ...]) -> Iterator[Any]:
    """Yield the Arrow batches with these columns alone; nothing is copied."""
    for batch in batches:
        yield batch.select(list(columns))
