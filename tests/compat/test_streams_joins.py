"""Two programs of Kafka Streams 4.4.0 as static members of one streams group: a join, a total, standby replicas."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer

from tests.compat.clients.confluent import Confluent
from tests.compat.tools import CONFIGS, STREAMS_GROUPS, TOPICS, Tools
from tests.support.clients.java import program_command
from tests.support.clients.word_count import ENDED_BY_SIGTERM
from tests.support.clients.word_count import STREAMS_SETTINGS as SETTINGS
from tests.support.kafka.jars import streams_libs
from tests.support.processes.program import Program
from tests.support.processes.server import ROOT, Server
from tests.support.waiting import PATIENCE_S, until

__all__ = ["SETTINGS"]

_SOURCE = ROOT / "tests" / "compat" / "java" / "RegionTotals.java"
_REGIONS = ("east", "north", "south", "west")
_CUSTOMERS = 10
_APP = "shop"
_GROUP = "--alter", "--entity-type", "groups", "--entity-name", _APP


class RegionTotals:
    """The application with its topics of two partitions, the orders written and the totals that they must come to."""

    def __init__(self, server: Server, tools: Tools, state: Path) -> None:
        self._server, self._state = server, state
        self.expected: Counter[str] = Counter()
        for topic in ("orders", "customers", "regions"):
            tools.ask(server, TOPICS, "--create", "--topic", f"{_APP}-{topic}", "--partitions", "2")
        # Kafka Streams partitions as Java's producers do, and a join needs both topics partitioned alike.
        as_in_java = {"partitioner": "murmur2_random"}
        self._producer = Producer({"bootstrap.servers": server.address, "linger.ms": 0, **as_in_java})
        for customer in range(_CUSTOMERS):
            self._producer.produce(f"{_APP}-customers", key=f"customer-{customer}", value=self._region(customer))
        assert self._producer.flush(60) == 0

    def run(self, name: str) -> Program:
        """Start the program as the static member `name`, with the state it may have left."""
        arguments = (self._server.address, _APP, str(self._state / name), name)
        return Program(program_command(_SOURCE, *arguments, libs=streams_libs()))

    def order(self, count: int) -> None:
        """Write so many orders."""
        for number in range(count):
            customer = number * number % _CUSTOMERS
            self._producer.produce(f"{_APP}-orders", key=b"%d" % number, value=f"customer-{customer} {number}")
            self.expected[self._region(customer)] += number
        assert self._producer.flush(60) == 0

    def totals(self) -> Counter[str]:
        """By region, the last total that a reader at read_committed gets."""
        totals: Counter[str] = Counter()
        for record in Confluent().read(self._server.address, f"{_APP}-regions"):
            totals[(record.key or b"").decode()] = int(record.value or b"")
        return totals

    def until_all_are_counted(self) -> None:
        until(lambda: self.totals() == self.expected, PATIENCE_S)

    @staticmethod
    def _region(customer: int) -> str:
        return _REGIONS[customer % len(_REGIONS)]


class Places(NamedTuple):
    """The partitions that the tasks of an endpoint read, and those of its standby tasks."""

    active: set[str]
    standby: set[str]


def places(program: Program) -> dict[str, Places]:
    """By endpoint, what a program knows of all."""
    before = program.lines.count(".")
    program.tell("where")
    until(lambda: program.lines.count(".") > before, PATIENCE_S)
    found: dict[str, Places] = {}
    for line in program.lines:
        if line == ".":
            answer, found = found, {}
        elif " active " in line:
            endpoint, _, active, _, standby = line.split(" ")
            found[endpoint] = Places(set(filter(None, active.split(","))), set(filter(None, standby.split(","))))
    return answer


def are_replicas(of: dict[str, Places]) -> bool:
    """Whether two endpoints have all tasks, and each has standby tasks for those of the other that have a store."""
    if set(of) != {"one:1", "two:1"}:
        return False
    one, two = of.values()
    with_stores = [
        {name for name in place.active if name.rpartition("-")[0] != f"{_APP}-orders"} for place in (one, two)
    ]
    return len(one.active | two.active) == 8 and [one.standby, two.standby] == with_stores[::-1]


def test_static_members_with_standby_replicas_join_and_sum_up(server: Server, tools: Tools, tmp_path: Path) -> None:
    def alter(setting: str) -> None:
        tools.ask(server, CONFIGS, *_GROUP, "--add-config", setting)

    def group_epoch() -> str:
        state = tools.ask(server, STREAMS_GROUPS, "--describe", "--group", _APP, "--state", "--verbose")
        return state.splitlines()[-1].split()[-3]

    alter("streams.num.standby.replicas=1")
    shop = RegionTotals(server, tools, tmp_path)
    shop.order(200)
    with shop.run("two") as two:
        with shop.run("one") as one:
            shop.until_all_are_counted()
            until(lambda: are_replicas(places(one)) and places(one) == places(two), PATIENCE_S)
            one.kill()
        shop.order(200)
        shop.until_all_are_counted()
        until(lambda: set(places(two)) == {"two:1"}, PATIENCE_S)
        alter("streams.session.timeout.ms=60000")  # of sessions from now on: longer than a member takes to start again
        with shop.run("one") as one:
            until(lambda: are_replicas(places(one)), PATIENCE_S)
            before, epoch = places(one), group_epoch()
            assert one.stop() == ENDED_BY_SIGTERM
        shop.order(200)
        with shop.run("one") as one:
            shop.until_all_are_counted()
            until(lambda: places(one) == before, PATIENCE_S)
            assert group_epoch() == epoch
            assert one.stop() == ENDED_BY_SIGTERM
        assert two.stop() == ENDED_BY_SIGTERM
    assert shop.totals() == shop.expected
