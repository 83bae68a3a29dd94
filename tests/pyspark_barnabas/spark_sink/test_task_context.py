"""What a task's local properties tell, and what is refused for it."""

import pytest

from pyspark_barnabas.options import OptionError, sink
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.spark_sink.task_context import BatchRun, checkpoint_location, refuse_what_is_weaker, run_of

RUN_ID = "0e87e07f-ba86-4b04-9b17-9ea4d031fc01"
PROPERTIES = {
    "sql.streaming.queryId": "query",
    "spark.jobGroup.id": RUN_ID,
    "streaming.sql.batchId": "7",
    "__is_continuous_processing": "false",
}
RUN = BatchRun("query", RUN_ID, 7, is_stream=True)
OPTIONS = {"kafka.bootstrap.servers": "a:1", "topic": "orders"}


def test_a_streams_task_knows_its_query_run_and_batch() -> None:
    assert run_of(PROPERTIES) == RUN


@pytest.mark.parametrize("missing", ["sql.streaming.queryId", "spark.jobGroup.id", "streaming.sql.batchId"])
def test_a_spark_that_does_not_tell_is_refused(missing: str) -> None:
    with pytest.raises(SinkFailed, match=r"does not pass .* docs/spark-versions\.md"):
        run_of({name: value for name, value in PROPERTIES.items() if name != missing})


def test_a_job_group_that_is_no_run_is_refused() -> None:
    with pytest.raises(SinkFailed, match="do not change the query's job group"):
        run_of(PROPERTIES | {"spark.jobGroup.id": "mine"})


@pytest.mark.parametrize(
    ("options", "properties", "sentence"),
    [
        ({}, {"__is_continuous_processing": "true"}, "the continuous trigger"),
        ({}, {"spark.speculation": "true"}, "set spark.speculation to false"),
        ({"atomic": "true"}, {}, "spark.stage.maxConsecutiveAttempts to 1"),
        ({"atomic": "true"}, {"spark.stage.maxConsecutiveAttempts": "2"}, "spark.stage.maxConsecutiveAttempts to 1"),
    ],
)
def test_weaker_settings_are_refused(options: dict[str, str], properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(SinkFailed, match=sentence):
        refuse_what_is_weaker(sink(OPTIONS | options), RUN, PROPERTIES | properties)


def test_exact_values_are_accepted() -> None:
    refuse_what_is_weaker(sink(OPTIONS), RUN, PROPERTIES | {"spark.speculation": "false"})
    refuse_what_is_weaker(sink(OPTIONS | {"atomic": "true"}), RUN, {"spark.stage.maxConsecutiveAttempts": "1"})


def test_the_checkpoint_is_where_the_option_says_or_where_the_session_keeps_the_querys() -> None:
    session = {"spark.sql.streaming.checkpointLocation": "/all/"}
    assert checkpoint_location({"checkpointlocation": "/one"}, session) == "/one"
    assert checkpoint_location({"queryname": "orders"}, session) == "/all/orders"


@pytest.mark.parametrize("properties", [{}, {"spark.sql.streaming.checkpointLocation": "/all"}])
def test_a_checkpoint_that_a_restart_would_not_find_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="set checkpointLocation"):
        checkpoint_location({}, properties)
