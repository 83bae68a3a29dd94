"""How fast connections may come: the pure side. See tests/broker/network/admission/test_connection_quotas.py."""

from barnabas.broker.clients.quotas.connection_rates import NO_LIMIT, ConnectionRates
from barnabas.broker.clients.quotas.sampled_rate import WindowSettings

SETTINGS = WindowSettings(2, 1000)


def test_the_slower_of_the_broker_and_the_listener_counts() -> None:
    rates = ConnectionRates(SETTINGS)
    assert rates.wait_ms("A", 2, 1, 0) == 0
    assert rates.wait_ms("A", 2, 1, 0) == 1000
    assert rates.wait_ms("B", 2, NO_LIMIT, 0) == 500
    assert rates.wait_ms("C", None, NO_LIMIT, 0) == 0, "what the broker's limit does not count for"


def test_a_throttle_time_is_at_most_one_window() -> None:
    rates = ConnectionRates(SETTINGS)
    waits = [rates.wait_ms("A", NO_LIMIT, 1, 0) for _ in range(20)]
    assert max(waits) == 1000


def test_refused_connections_of_an_address_are_not_counted() -> None:
    rates = ConnectionRates(SETTINGS)
    for number in range(10):
        rates.wait_ms("A", 5, 5, 0)
        assert (rates.refused_ms("A", "10.0.0.1", 1, True, 0) > 0) is (number > 0)
    assert rates.wait_ms("A", 5, 5, 0) == 0
    assert rates.refused_ms("A", "10.0.0.2", 1, True, 0) == 0
