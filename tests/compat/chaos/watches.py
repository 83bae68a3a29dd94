"""Who looks on while a play goes on: at what the broker has of the group, and at how this machine gets on."""

import threading
import time
from collections.abc import Callable

from barnabas.client.admin.groups import describe_group
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets
from barnabas.protocol.errors import KafkaError
from tests.compat.chaos.ledger import Ledger
from tests.compat.clients.confluent import Confluent

ASK_AGAIN_S = 0.2
ANSWER_WITHIN_MS = 60_000


class Watch:
    """Notes when this process did not get on for a while: then its consumers could not say that they are alive."""

    def __init__(self, ledger: Ledger, limit_s: float) -> None:
        self._ledger, self._limit_s = ledger, limit_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._ending.wait(0.05):
            now = time.monotonic()
            self._ledger.stood_still |= now - before > self._limit_s
            before = now

    def end(self) -> None:
        self._ending.set()
        self._thread.join()


class CommitWatch:
    """Asks for the group's committed offsets again and again: they never go back.

    hear: has the ledger know everything that members have told.
    """

    def __init__(self, address: str, topic: str, ledger: Ledger, hear: Callable[[], None]) -> None:
        self._address = address
        self._topic, self._ledger, self._hear = topic, ledger, hear
        self.answers = 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        with Client(self._address, timeout_ms=ANSWER_WITHIN_MS) as client:
            while not self._ending.wait(ASK_AGAIN_S):
                before = self._ledger.acknowledged()
                try:
                    found = committed(client, self._topic)
                except KafkaError as error:  # it takes long where members do
                    self._ledger.broken.append(f"nobody tells what is committed: {error!r}")
                    return
                self._hear()  # who was given partitions before this may have begun below what is committed now
                self._ledger.found(found, before)
                self.answers += 1

    def end(self) -> None:
        self._ending.set()
        self._thread.join()


def committed(client: Client, group: str) -> dict[int, int]:
    """The committed offsets of the group, which has its name from its topic."""
    return {partition: offset for (_, partition), offset in committed_offsets(client, group).items()}


def shares(client: Client, group: str) -> list[list[int]]:
    """What the broker says that each member has."""
    members = describe_group(client, group).members
    return [[partition for _, partition in member.assignment or ()] for member in members]


def stored(address: str, topic: str) -> dict[tuple[int, int], bytes]:
    """Every record of the topic: (partition, offset) -> its value."""
    return {(each.partition, each.offset): each.value or b"" for each in Confluent().read(address, topic)}
