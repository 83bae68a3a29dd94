"""What cannot be exact is refused, each with a sentence that says what to do instead."""

from dataclasses import replace
from typing import Any

import pytest

from pyspark_barnabas.commit.refusals import QuerySettings, refuse

GOOD = QuerySettings("shop", transaction_timeout_ms=900_000, broker_max_timeout_ms=900_000)


@pytest.mark.parametrize("trigger", ["processingTime", "once", "availableNow"])
@pytest.mark.parametrize("mode", ["append", "complete"])
def test_exact_values_are_accepted(trigger: str, mode: str) -> None:
    assert refuse(replace(GOOD, trigger=trigger, output_mode=mode)) == []


def test_update_mode_is_taken_by_foreach_batch() -> None:
    assert refuse(replace(GOOD, output_mode="update", is_data_source=False)) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prefix": " "}, "set transactionalIdPrefix"),
        ({"trigger": "continuous"}, "use trigger(processingTime=...)"),
        ({"trigger": "realTime"}, "use trigger(processingTime=...)"),
        ({"trigger": "lunar"}, "use one of availableNow, once, processingTime"),
        ({"has_async_progress_tracking": True}, "set asyncProgressTrackingEnabled to false"),
        ({"has_speculation": True}, "set spark.speculation to false"),
        ({"is_atomic": True}, "set spark.stage.maxConsecutiveAttempts to 1"),
        ({"output_mode": "update"}, "use foreachBatch"),
        ({"transaction_timeout_ms": 900_001}, "raise the broker's transaction.max.timeout.ms"),
    ],
)
def test_inexact_values_are_refused_with_one_sentence(change: dict[str, Any], says: str) -> None:
    [sentence] = refuse(replace(GOOD, **change))
    assert says in sentence


def test_every_reason_is_reported_at_once() -> None:
    assert len(refuse(replace(GOOD, trigger="continuous", has_speculation=True, output_mode="update"))) == 3
