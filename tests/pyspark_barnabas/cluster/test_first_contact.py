"""The first contact with a cluster: what is said where nobody answers, and what is not said where somebody does."""

import pytest

from barnabas.client.client import Client
from barnabas.client.security.properties import security_of
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cli import command_line
from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.cluster.first_contact import advice, wait_for_first_contact
from pyspark_barnabas.reporting.user_errors import UserError
from pyspark_barnabas.source.errors import SourceError, explaining
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import ScriptedBroker

NOWHERE = ConnectionSettings("127.0.0.1:1")


def test_where_nobody_answers_a_warning_comes_at_once_and_an_error_in_the_end(caplog: pytest.LogCaptureFixture) -> None:
    clock = StandingClock()
    with (
        Client(NOWHERE.bootstrap_servers, clock=clock) as client,
        pytest.raises(KafkaError, match="connection refused"),
    ):
        wait_for_first_contact(client, NOWHERE, timeout_ms=30_000, option="kafka.request.timeout.ms")
    assert 28 < clock.slept_s <= 30
    (line,) = caplog.records
    assert line.levelname == "WARNING"
    assert line.getMessage() == (
        "no broker answers at 127.0.0.1:1 (kafka.bootstrap.servers): cannot connect to 127.0.0.1:1: connection "
        "refused. Trying for 30000 ms (kafka.request.timeout.ms)"
    )


def test_a_cluster_that_answers_is_queried_once_without_a_message(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedBroker() as broker, Client(broker.address) as client:
        for _ in range(2):
            wait_for_first_contact(
                client, ConnectionSettings(broker.address), timeout_ms=30_000, option="kafka.request.timeout.ms"
            )
    assert broker.connections == 1
    assert not caplog.records


def test_a_source_names_the_options_to_change() -> None:
    with pytest.raises(SourceError) as told, explaining("planning", NOWHERE):
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, "why")
    for named in ("127.0.0.1:1", "kafka.bootstrap.servers", "kafka.request.timeout.ms (30000)"):
        assert named in str(told.value)


def test_a_refused_login_names_the_options_of_security() -> None:
    assert "kafka.sasl.*" in (advice(ErrorCode.SASL_AUTHENTICATION_FAILED, NOWHERE) or "")
    assert advice(ErrorCode.MESSAGE_TOO_LARGE, NOWHERE) is None


def test_a_right_to_read_that_is_missing_may_be_a_wrong_name() -> None:
    with (
        pytest.raises(SourceError, match=r"needs READ on it.*Or the topic's name is wrong"),
        explaining("a", NOWHERE),
    ):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "topic 'orders': Not authorized")


def test_a_store_that_is_not_there_is_a_sentence_for_people() -> None:
    security = security_of({"security.protocol": "SSL", "ssl.truststore.location": "/nothere.jks"})
    connection = ConnectionSettings(NOWHERE.bootstrap_servers, security=security)
    with pytest.raises(UserError, match=r"begin with kafka\.: ssl\.truststore\.location: /nothere\.jks: no such file"):
        client_for(connection)


def test_the_ledgers_commands_say_that_an_address_is_the_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "_BOOTSTRAP", NOWHERE.bootstrap_servers)
    for given, hint in (((), " (the default: --bootstrap-servers"), (("--bootstrap-servers", "127.0.0.1:1"), "")):
        assert command_line.main(["ledger", "show", "shop", "--request-timeout-ms", "100", *given]) == 1
        told = capsys.readouterr().err
        assert "cannot connect to 127.0.0.1:1: connection refused" in told
        assert ("the default" in told) == bool(hint)
        assert hint in told
