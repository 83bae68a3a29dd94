"""`broker.clock`: a broker's clock stopped and moved from a test, wherever the broker runs; and by the fixture."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from tests.support.clients.committed import begun

MINUTE = timedelta(minutes=1)


@pytest.fixture(params=[False, True], ids=["process", "thread"])
def broker(request: pytest.FixtureRequest) -> Iterator[Barnabas]:
    with Barnabas(topics={"t": 1}, in_process=request.param) as running:
        yield running


def test_it_stands_still_and_is_moved(broker: Barnabas) -> None:
    clock = broker.clock
    assert abs(clock.now - datetime.fromtimestamp(time.time(), UTC)) < MINUTE
    clock.freeze()
    before = clock.now
    assert clock.is_frozen
    clock.advance("1h30m")
    clock.advance(0.5)
    clock.advance(timedelta(days=7))
    assert clock.now - before == timedelta(days=7, hours=1, minutes=30, milliseconds=500)
    clock.at(clock.now + MINUTE)
    clock.at((clock.now + MINUTE).astimezone(timezone(timedelta(hours=3))))
    clock.at("2099-01-01T00:00:00Z")
    assert clock.now == datetime(2099, 1, 1, tzinfo=UTC)
    assert clock.is_frozen
    clock.run()
    assert not clock.is_frozen
    assert repr(clock) == "<the clock of a Barnabas>"


def test_an_unsupported_operation_is_reported_in_a_sentence(broker: Barnabas) -> None:
    clock = broker.clock
    with pytest.raises(BarnabasError, match=r"^the clock does not go back$"):
        clock.advance(-1)
    with pytest.raises(BarnabasError, match="is not a length of time such as 90s"):
        clock.advance("soon")
    with pytest.raises(BarnabasError, match="does not go back"):
        clock.at("2020-01-01")
    with pytest.raises(ValueError, match="has no time zone"):
        clock.at(datetime(2099, 1, 1))  # noqa: DTZ001 (what is refused)
    with pytest.raises(ValueError, match="are not a duration"):
        clock.advance(float("nan"))
    for wrong in (None, True, b"1m"):
        with pytest.raises(TypeError):
            clock.advance(wrong)  # type: ignore[arg-type]  # because that is what is refused
    with pytest.raises(TypeError):
        clock.at(5)  # type: ignore[arg-type]  # because that is what is refused
    assert abs(clock.now - datetime.fromtimestamp(time.time(), UTC)) < MINUTE


def test_a_transaction_is_aborted_and_records_go(broker: Barnabas) -> None:
    with Client(broker.bootstrap_servers) as client:
        begun(client, "tx", b"never seen")
        assert broker.open_transactions()
        broker.clock.advance("2m")
        assert not broker.open_transactions()
        with Producer(client) as producer:
            producer.send("t", b"kept for a week")
        assert [record.value for record in broker.records("t")] == [b"kept for a week"]
        broker.clock.advance("8d")
        assert broker.records("t") == []
        assert broker.transactions() == []


def test_after_a_restart_and_a_kill_it_is_as_far_ahead(broker: Barnabas) -> None:
    broker.clock.advance("1d")
    for how in (broker.stop, broker.kill):
        before = broker.clock.now
        how()
        broker.start()
        assert timedelta(0) <= broker.clock.now - before < MINUTE
        assert not broker.clock.is_frozen


def test_the_fixture_has_it(barnabas: Barnabas) -> None:
    barnabas.clock.advance("15m")
    assert barnabas.clock.now - datetime.fromtimestamp(time.time(), UTC) > 14 * MINUTE
