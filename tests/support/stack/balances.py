"""A Streams application with two tables (stack/java/Balances.java), and an account of what they must come to."""

import random
from pathlib import Path

from confluent_kafka import Producer

from tests.support.clients.java import program_command
from tests.support.kafka.jars import streams_libs
from tests.support.processes.program import Program
from tests.support.processes.server import ROOT, Server
from tests.support.stack.compacted import last_values, make_compacted, make_topic

_SOURCE = ROOT / "tests" / "stack" / "java" / "Balances.java"
_ACCOUNTS = 30
APPLICATION = "balances"
PAYMENTS, NAMES, TO = "payments", "names", "changes"
CHANGELOG = f"{APPLICATION}-balances-changelog"


class Tables(Program):
    """The running application; it keeps its state in the directory `state`."""

    def __init__(self, server: Server, state: Path) -> None:
        arguments = (server.address, APPLICATION, str(state), PAYMENTS, NAMES, TO)
        super().__init__(program_command(_SOURCE, *arguments, libs=streams_libs()))

    def shown(self) -> dict[str, dict[str, str]] | None:
        """By store, what it holds; None while it is being restored."""
        seen = len(self.lines)
        answers = sum(line in ("shown", "not yet") for line in self.lines)
        self.tell("show")
        self.lines_until(answers + 1)
        stores: dict[str, dict[str, str]] = {"balances": {}, "names": {}}
        for line in self.lines[seen:]:
            if line == "not yet":
                return None
            name, *entry = line.split(" ")
            if name in stores:
                stores[name][entry[0]] = entry[1]
        return stores

    def lines_until(self, answers: int) -> None:
        """Wait for so many answers in all."""
        seen = 0

        def is_the_last(line: str) -> bool:
            nonlocal seen
            seen += line in ("shown", "not yet")
            return seen == answers

        self.line(is_the_last)


class Accounts:
    """What is written, and what both tables must be then."""

    def __init__(self, server: Server, seed: int) -> None:
        make_compacted(server.address, NAMES, TO, partitions=2)
        make_topic(server.address, PAYMENTS, partitions=2)  # each payment counts
        self._server = server
        self._dice = random.Random(seed)
        self._producer = Producer({"bootstrap.servers": server.address, "enable.idempotence": True, "linger.ms": 0})
        self._balances: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._number = 0

    @property
    def expected(self) -> dict[str, dict[str, str]]:
        """By store, what it must hold."""
        return {"balances": {key: str(balance) for key, balance in self._balances.items()}, "names": self._names}

    def write(self, count: int) -> None:
        """Write so many payments, and a name or its removal for each; one in eight payments closes the account."""
        for _ in range(count):
            self._number += 1
            account = f"account-{self._dice.randrange(_ACCOUNTS)}"
            self._pay(account)
            self._rename(account)
        assert self._producer.flush(60) == 0

    def check_topics(self) -> None:
        """The changelog, the source that is one, and the reported balances: the last value of each key."""
        address = self._server.address
        balances = {key: int.from_bytes(value, "big") for key, value in last_values(address, CHANGELOG).items()}
        assert balances == self._balances
        assert {key: value.decode() for key, value in last_values(address, NAMES).items()} == self._names
        assert {key: int(value) for key, value in last_values(address, TO).items()} == self._balances

    def _pay(self, account: str) -> None:
        if self._dice.randrange(8):
            self._producer.produce(PAYMENTS, key=account, value=str(self._number))
            self._balances[account] = self._balances.get(account, 0) + self._number
        else:
            self._producer.produce(PAYMENTS, key=account, value="close")
            self._balances.pop(account, None)

    def _rename(self, account: str) -> None:
        if self._dice.randrange(4):
            name = self._names[account] = f"name-{self._number}"
            self._producer.produce(NAMES, key=account, value=name)
        else:
            self._producer.produce(NAMES, key=account, value=None)
            self._names.pop(account, None)
