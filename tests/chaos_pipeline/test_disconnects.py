"""The connection is lost at requests of opening, writing and committing, before and after the broker saw them."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.client.security.properties import security_of
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.chaos import audit
from tests.support.chaos.simulated_query import SimulatedQuery
from tests.support.chaos.ways import MECHANISM, USER
from tests.support.processes.cutting_proxy import Cut, CuttingProxy
from tests.support.processes.server import Server
from tests.support.security.grants import Grant, Grants, sink_rights
from tests.support.security.secured import SASL_PLAINTEXT, SecuredBroker, SecuredKafka

BATCHES, ROWS = 2, 40
IN_ANY_RUN = 10
"""How many of all the places are tried each time; the seed chooses them."""


@pytest.fixture
def proxy() -> Iterator[CuttingProxy]:
    with CuttingProxy() as proxy:
        yield proxy


@pytest.fixture
def server(new_broker: Callable[..., Server], proxy: CuttingProxy, tmp_path: Path) -> Iterator[Server]:
    """A broker that tells the sink the proxy's address; one that is secured does it where logins can be read."""
    server = new_broker(tmp_path / "broker", listeners=(SASL_PLAINTEXT,))
    if isinstance(server, SecuredBroker | SecuredKafka):
        proxy.target = server.ports[SASL_PLAINTEXT]
        advertised = str(server.settings["advertised.listeners"])
        server.settings["advertised.listeners"] = advertised.replace(f"127.0.0.1:{proxy.target}", proxy.address)
    else:
        server.settings["advertised.listeners"] = f"PLAINTEXT://{proxy.address}"
    with server:
        proxy.target = proxy.target or server.port
        yield server


@pytest.fixture(params=[False, True], ids=["a transaction each", "one for all tasks"])
def is_atomic(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class Cutter:
    """Runs a query through the proxy, again and again, under a new name each time."""

    def __init__(self, server: Server, proxy: CuttingProxy, *, is_atomic: bool) -> None:
        self._server = server
        self._proxy = proxy
        self._is_atomic = is_atomic
        self._runs = 0

    def run(self, at: int, where: Cut) -> int:
        """One query, disturbed once; every row is there once, in order. How many requests it made."""
        self._runs += 1
        name, server, proxy = f"cut-{self._is_atomic}-{self._runs}", self._server, self._proxy
        proxy.listen()
        audit.make_topic(server.address, name)
        settings = SinkSettings(self._connection(name), topic=name, prefix=name, is_atomic=self._is_atomic)
        numbers = [(b"%d" % (number % 10), number) for number in range(BATCHES * ROWS)]
        query = SimulatedQuery(settings, [numbers[each : each + ROWS] for each in range(0, len(numbers), ROWS)])
        proxy.cut(at, where)
        query.run()
        heard = len(proxy.heard)
        proxy.listen()
        verdict = audit.audit(server.address, name, numbers)
        assert verdict.is_exact, f"{where} of request {at}: {verdict}, after {query.failures}"
        audit.check_ledger(server.address, name, len(numbers))
        assert audit.open_transactions(server.address, name) == [], f"{where} of request {at}: {query.failures}"
        return heard

    def _connection(self, name: str) -> ConnectionSettings:
        """What the sink is told; a secured server lets it in for this topic."""
        server = self._server
        if not isinstance(server, SecuredBroker | SecuredKafka):
            return ConnectionSettings(self._proxy.address)
        Grants(server.port, USER).give((Grant("READ", "TOPIC", "source"), *sink_rights(name, name)))
        security = security_of(server.security.client_properties(USER, MECHANISM))
        return ConnectionSettings(self._proxy.address, security=security)

    def places(self) -> list[tuple[int, Cut]]:
        """Everywhere that a connection may be lost, by a run in which none is."""
        requests = self.run(1_000_000, Cut.BEFORE)
        assert requests > 40
        return [(at, where) for at in range(requests) for where in Cut]


def test_a_connection_lost_somewhere_loses_and_repeats_no_row(
    server: Server, proxy: CuttingProxy, seed: int, is_atomic: bool
) -> None:
    cutter = Cutter(server, proxy, is_atomic=is_atomic)
    for at, where in random.Random(seed).sample(cutter.places(), IN_ANY_RUN):
        cutter.run(at, where)


@pytest.mark.long
def test_a_connection_lost_anywhere_loses_and_repeats_no_row(
    server: Server, proxy: CuttingProxy, is_atomic: bool, tell: Callable[[str], None]
) -> None:
    cutter = Cutter(server, proxy, is_atomic=is_atomic)
    places = cutter.places()
    for at, where in places:
        cutter.run(at, where)
    tell(f"{len(places)} places")
