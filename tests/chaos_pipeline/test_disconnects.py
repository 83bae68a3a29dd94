"""The connection is lost at requests of opening, writing and committing, before and after the broker saw them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyspark_barnabas.connection import ConnectionSettings
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.chaos import audit
from tests.support.chaos.simulated_query import SimulatedQuery
from tests.support.processes.cutting_proxy import Cut, CuttingProxy
from tests.support.processes.server import Server

BATCHES, ROWS = 2, 40
IN_ANY_RUN = 10
"""How many of all the places are tried each time; the seed chooses them."""


@pytest.fixture
def proxy() -> Iterator[CuttingProxy]:
    with CuttingProxy() as proxy:
        yield proxy


@pytest.fixture
def server(new_broker: Callable[..., Server], proxy: CuttingProxy, tmp_path: Path) -> Iterator[Server]:
    """A broker that tells its clients the proxy's address. Never secured: the proxy has to read what passes."""
    advertised = {"advertised.listeners": f"PLAINTEXT://{proxy.address}"}
    with new_broker(tmp_path / "broker", advertised, is_secured=False) as server:
        proxy.target = server.port
        yield server


@pytest.fixture(params=[False, True], ids=["a transaction each", "one for all tasks"])
def is_atomic(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class Cutter:
    """Runs a query through the proxy, again and again, under a new name each time."""

    def __init__(self, proxy: CuttingProxy, *, is_atomic: bool) -> None:
        self._proxy = proxy
        self._is_atomic = is_atomic
        self._runs = 0

    def run(self, at: int, where: Cut) -> int:
        """One query, disturbed once; every row is there once, in order. How many requests it made."""
        self._runs += 1
        name, proxy = f"cut-{self._is_atomic}-{self._runs}", self._proxy
        proxy.listen()
        audit.make_topic(proxy.address, name)
        settings = SinkSettings(ConnectionSettings(proxy.address), topic=name, prefix=name, is_atomic=self._is_atomic)
        numbers = [(b"%d" % (number % 10), number) for number in range(BATCHES * ROWS)]
        query = SimulatedQuery(settings, [numbers[each : each + ROWS] for each in range(0, len(numbers), ROWS)])
        proxy.cut(at, where)
        query.run()
        heard = len(proxy.heard)
        proxy.listen()
        verdict = audit.audit(proxy.address, name, numbers)
        assert verdict.is_exact, f"{where} of request {at}: {verdict}, after {query.failures}"
        audit.check_ledger(proxy.address, name, len(numbers))
        assert audit.open_transactions(proxy.address, name) == [], f"{where} of request {at}: {query.failures}"
        return heard

    def places(self) -> list[tuple[int, Cut]]:
        """Everywhere that a connection may be lost, by a run in which none is."""
        requests = self.run(1_000_000, Cut.BEFORE)
        assert requests > 40
        return [(at, where) for at in range(requests) for where in Cut]


def test_a_connection_lost_somewhere_loses_and_repeats_no_row(
    server: Server, proxy: CuttingProxy, seed: int, is_atomic: bool
) -> None:
    cutter = Cutter(proxy, is_atomic=is_atomic)
    for at, where in random.Random(seed).sample(cutter.places(), IN_ANY_RUN):
        cutter.run(at, where)


@pytest.mark.long
def test_a_connection_lost_anywhere_loses_and_repeats_no_row(
    server: Server, proxy: CuttingProxy, is_atomic: bool, tell: Callable[[str], None]
) -> None:
    cutter = Cutter(proxy, is_atomic=is_atomic)
    places = cutter.places()
    for at, where in places:
        cutter.run(at, where)
    tell(f"{len(places)} places")
