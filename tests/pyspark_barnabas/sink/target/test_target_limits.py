"""What a topic's settings mean for what the sink is going to write, and the sentences for topics that are not there."""

from dataclasses import replace

import pytest

from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target.target_limits import creation_warning, refusal, refused_creation, warning

SETTINGS = SinkSettings(ConnectionSettings("broker:9092"))
DEFAULTS = {"cleanup.policy": "delete", "max.message.bytes": "1048588"}


def test_a_topic_with_kafkas_defaults_takes_what_the_sinks_defaults_write() -> None:
    assert refusal("t", DEFAULTS, has_keys=False) is None
    assert warning("t", DEFAULTS, SETTINGS) is None


def test_a_topic_whose_settings_may_not_be_seen_is_not_judged() -> None:
    assert refusal("t", {}, has_keys=False) is None
    assert warning("t", {}, SETTINGS) is None


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_takes_rows_with_keys_only(policy: str) -> None:
    configs = DEFAULTS | {"cleanup.policy": policy}
    assert refusal("t", configs, has_keys=True) is None
    assert "add a column `key`" in (refusal("t", configs, has_keys=False) or "")


def test_a_topic_that_takes_less_than_the_sink_may_write_is_warned_of_with_the_options() -> None:
    small = DEFAULTS | {"max.message.bytes": "100000"}
    told = warning("t", small, SETTINGS) or ""
    assert "set kafka.max.request.size to 100000. Larger batches are split" in told
    assert "set kafka.batch.size (524288) to 100000 or less" in told
    assert "Batches" not in (warning("t", small, replace(SETTINGS, batch_bytes=100_000)) or "")
    assert warning("t", small, replace(SETTINGS, batch_bytes=100_000, max_request_bytes=100_000)) is None


def test_a_missing_topic_is_reported_with_the_name_that_may_be_meant() -> None:
    assert refused_creation("ordres", ["orders", "payments"]).startswith(
        "topic 'ordres' does not exist (did you mean orders?), but createTopics is false"
    )
    assert "did you mean" not in refused_creation("ordres", ["payments"])
    told = creation_warning("ordres", ["orders"], 1, is_requested=False)
    assert "has been created with 1 partition (the broker's num.partitions" in told
    assert "with createTopics=false no topic" in told
