"""How long the look before the first row waits for a broker that is away."""

import pytest

from barnabas.client.client import Client
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target import checks_before_writing
from pyspark_barnabas.sink.target.checks_before_writing import look_before_writing
from tests.support.client_clock import StandingClock
from tests.support.scripted.broker import ScriptedBroker


def waited_s(monkeypatch: pytest.MonkeyPatch, client: Client, clock: StandingClock, *, is_stream: bool) -> float:
    """How long it looks until it fails."""
    monkeypatch.setattr(checks_before_writing, "client_for", lambda _: client)
    settings = SinkSettings(ConnectionSettings("127.0.0.1:1"), topic="t")
    began_s = clock.slept_s
    with pytest.raises(SinkFailed, match="looking for the topic and its cluster failed"):
        look_before_writing(settings, ["value"], is_stream=is_stream)
    return clock.slept_s - began_s


@pytest.mark.parametrize(("is_stream", "option", "timeout_s"), [(True, "delivery", 120), (False, "request", 30)])
def test_a_stream_waits_as_long_as_its_tasks_and_a_batch_write_for_one_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_stream: bool, option: str, timeout_s: int
) -> None:
    clock = StandingClock()
    with Client("127.0.0.1:1", clock=clock) as client:
        assert timeout_s - 2 < waited_s(monkeypatch, client, clock, is_stream=is_stream) <= timeout_s
    assert f"Trying for {timeout_s}000 ms (kafka.{option}.timeout.ms)" in caplog.text


def test_a_stream_waits_as_long_for_a_broker_that_answered_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StandingClock()
    with ScriptedBroker() as broker:
        client = Client(broker.address, clock=clock)
        client.connect(30_000)
    with client:
        assert 118 < waited_s(monkeypatch, client, clock, is_stream=True) <= 120
