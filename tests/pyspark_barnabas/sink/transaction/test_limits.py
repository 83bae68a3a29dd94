"""The transaction timeout: the broker's limit, unless the option says otherwise."""

from collections.abc import Callable

import pytest

from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.transaction import limits

DEFAULT_MS = 900_000


class Broker:
    """A broker that allows timeouts up to a limit, and tells it or not."""

    def __init__(self, limit_ms: int, *, tells: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[int] = []
        self.limit_ms = limit_ms
        self.times_told = 0
        self._tells = tells
        monkeypatch.setattr(limits, "_allowed", {})
        monkeypatch.setattr(limits, "broker_max_timeout_ms", self._tell)

    def _tell(self, client: Client) -> int | None:
        self.times_told += 1
        return self.limit_ms if self._tells else None

    def begin(self, timeout_ms: int) -> int:
        self.asked.append(timeout_ms)
        if timeout_ms > self.limit_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT, "too long")
        return timeout_ms


NewBroker = Callable[..., Broker]


@pytest.fixture
def new_broker(monkeypatch: pytest.MonkeyPatch) -> NewBroker:
    return lambda limit_ms, tells=True: Broker(limit_ms, tells=tells, monkeypatch=monkeypatch)


def start(broker: Broker, asked_ms: int | None = None, at_most_ms: int | None = None) -> int:
    settings = SinkSettings(ConnectionSettings("127.0.0.1:1"), transaction_timeout_ms=asked_ms)
    return limits.with_timeout(Client("127.0.0.1:1"), settings, broker.begin, at_most_ms=at_most_ms)


@pytest.mark.parametrize("limit_ms", [60_000, DEFAULT_MS, 86_400_000])
def test_it_is_what_the_broker_allows_which_is_requested_once(new_broker: NewBroker, limit_ms: int) -> None:
    broker = new_broker(limit_ms)
    assert [start(broker), start(broker)] == [limit_ms, limit_ms]
    assert (broker.asked, broker.times_told) == ([limit_ms, limit_ms], 1)


def test_it_is_lowered_where_the_broker_refuses_and_does_not_tell_and_that_is_kept(new_broker: NewBroker) -> None:
    broker = new_broker(300_000, tells=False)
    assert [start(broker), start(broker)] == [225_000, 225_000]
    assert broker.asked == [900_000, 450_000, 225_000, 225_000]


def test_one_that_was_requested_is_never_lowered(new_broker: NewBroker) -> None:
    broker = new_broker(60_000)
    with pytest.raises(SinkFailed, match="is 60001, but the broker allows at most 60000"):
        start(broker, asked_ms=60_001)
    assert broker.asked == [60_001]
    assert start(broker, asked_ms=30_000) == 30_000
    with pytest.raises(KafkaError, match="too long"):
        start(new_broker(60_000, tells=False), asked_ms=60_001)


def test_a_transaction_that_needs_little_requests_no_more(new_broker: NewBroker) -> None:
    broker = new_broker(DEFAULT_MS)
    assert start(broker, at_most_ms=240_000) == 240_000
    assert start(broker, asked_ms=10_000, at_most_ms=240_000) == 10_000
    assert broker.times_told == 0
    assert start(broker) == DEFAULT_MS  # and nothing was kept of that
    assert start(new_broker(60_000), at_most_ms=240_000) == 60_000


def test_other_refusals_and_a_limit_below_a_second_are_passed_on(new_broker: NewBroker) -> None:
    with pytest.raises(KafkaError, match="too long"):
        start(new_broker(999, tells=False))
