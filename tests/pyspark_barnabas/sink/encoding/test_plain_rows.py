"""Rows a row at a time, without Arrow: where each of them goes."""

from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_barnabas.sink.encoding.batch_layout import BadRows, BatchLayout
from pyspark_barnabas.sink.encoding.plain_rows import PlainEncoder


def topics(rows: list[dict[str, Any]], default: str | None) -> list[str]:
    """Of the batches that become of these rows."""
    layout = BatchLayout(topic=default, compression=0, batch_bytes=700, max_batch_bytes=4096)
    encoder = PlainEncoder(layout, lambda topic: 1, lambda: 5)
    names = sorted({name for row in rows for name in row})
    batch = SimpleNamespace(schema=SimpleNamespace(names=names), to_pylist=lambda: rows)
    return [each.topic for each in [*encoder.add(batch), *encoder.finish()]]


def test_only_a_row_without_a_topic_goes_to_the_default_one() -> None:
    assert topics([{"topic": topic, "value": b"v"} for topic in ("a", None, "")], default="d") == ["a", "d", ""]


def test_a_row_without_a_topic_is_reported_where_there_is_no_default_one() -> None:
    assert topics([{"topic": "", "value": b"v"}], default=None) == [""]
    with pytest.raises(BadRows, match="a row without a key has no topic"):
        topics([{"topic": None, "value": b"v"}], default=None)
    with pytest.raises(BadRows, match="a row with the key b'k', for partition 3, has no topic"):
        topics([{"topic": None, "key": b"k", "partition": 3, "value": b"v"}], default=None)
