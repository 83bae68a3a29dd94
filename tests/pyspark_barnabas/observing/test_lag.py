"""How far a query is behind, out of a progress of Spark."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_barnabas import offsets_behind
from pyspark_barnabas.observing.lag import OffsetsBehind


def _progress(end: Any, latest: Any) -> dict[str, Any]:
    return {"sources": [{"endOffset": end, "latestOffset": latest}]}


def test_offsets_are_counted_over_all_partitions_of_a_source() -> None:
    progress = _progress({"a": {"0": 5, "1": 10}, "b": {"0": 1}}, {"a": {"0": 9, "1": 10}, "b": {"0": 3}})
    assert offsets_behind(progress) == [OffsetsBehind(0, 4, 2.0, 6)]


def test_a_listener_may_give_its_progress_as_it_is() -> None:
    progress = SimpleNamespace(json=json.dumps(_progress({"a": {"0": 5}}, {"a": {"0": 7}})))
    assert offsets_behind(progress) == [OffsetsBehind(2, 2, 2.0, 2)]


def test_a_partition_that_is_in_no_batch_yet_is_not_counted() -> None:
    assert offsets_behind(_progress({"a": {"0": 5}}, {"a": {"0": 6, "1": 100}})) == [OffsetsBehind(1, 1, 1.0, 1)]


@pytest.mark.parametrize(
    ("end", "latest"),
    [(None, None), ({"a": {"0": 1}}, None), (3, 7), ({"logOffset": 3}, {"logOffset": 4}), ({"a": {"0": 1}}, {})],
)
def test_nothing_is_said_of_a_source_that_tells_no_offsets_of_topics(end: Any, latest: Any) -> None:
    assert offsets_behind(_progress(end, latest)) == [None]


def test_a_source_without_these_fields_has_none() -> None:
    assert offsets_behind({"sources": [{}]}) == [None]
