"""Refusals, told with what to do about them; and names of ledgers."""

import pytest

from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.error_explanations import explain
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.ledger.topic import ledger_topic
from pyspark_barnabas.sink.settings import SinkSettings

SETTINGS = SinkSettings(ConnectionSettings("broker:9092"))


@pytest.mark.parametrize("code", [code for code in ErrorCode if code is not ErrorCode.NONE])
def test_every_refusal_states_what_failed_and_what_to_do(code: ErrorCode) -> None:
    told = str(explain(KafkaError(code, "why"), SETTINGS, "shop", "writing"))
    assert told.startswith(f"writing failed: {KafkaError(code, 'why')}. ")
    advice = ("restart the query", "Restart the query", "raise", "Raise", "correct", "needs", "change")
    assert any(each in told for each in advice)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.NETWORK_EXCEPTION, "broker:9092"),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "that begin with 'shop'"),
        (ErrorCode.INVALID_PRODUCER_EPOCH, "no longer ours"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "create it"),
    ],
)
def test_the_advice_names_what_is_set(code: ErrorCode, told: str) -> None:
    assert told in str(explain(KafkaError(code, "why"), SETTINGS, "shop", "writing"))


def test_a_ledger_is_named_after_its_prefix() -> None:
    assert ledger_topic("shop.orders") == "__shop.orders.ledger"
    for prefix in ("two words", "x" * 250):
        with pytest.raises(SinkFailed, match="is not a valid name of a topic"):
            ledger_topic(prefix)
