"""A play of stock clients over a real broker that dies again and again: who takes part, when it dies, and how it ends.

How the broker dies and comes back is a separate object (`Death`), so that the same play can be had with another
fault than `kill -9`.

What is drawn comes from a seed. What happens does not: threads, processes and the disk go their own ways, so the same
seed asks for the same things, and may get other answers.
"""

import itertools
import random
import threading
import traceback
from typing import Protocol

from confluent_kafka.admin import AdminClient, NewTopic

from tests.simulation.history.history import History, TopicPartition
from tests.support.histories.clients import INPUT, PATIENCE_S, Client, Program
from tests.support.histories.librdkafka_readers import OffsetReader, is_settled, read_all
from tests.support.histories.notes import Notes
from tests.support.histories.programs import Idempotent, Transactor, group_of
from tests.support.processes.server import Server
from tests.support.waiting import until

TOPIC = "histories"
PARTITIONS = 3
IDS = ("tx0", "tx1")
ENDS_BETWEEN_DEATHS = 8
SETTLE_S = 30.0


class Death(Protocol):
    """How the broker of a play dies and comes back, at the same address."""

    all_survives: bool
    """Whether a death takes nothing that was written, synced or not: as in a history."""

    def die(self) -> None:
        """Returns when nothing of the broker runs any more."""

    def come_back(self) -> None:
        """Returns when it can be used."""


class Kill:
    """The process gets a SIGKILL; its files stay as they are."""

    all_survives = True

    def __init__(self, server: Server) -> None:
        self._server = server

    def die(self) -> None:
        self._server.kill()

    def come_back(self) -> None:
        self._server.start()


class Play:
    """One of them; `run` gives its history.

    `client` is what writes and reads while it lasts. Groups' offsets, and everything at the end, are read with
    librdkafka whatever the client is: the judge is one.
    """

    def __init__(self, server: Server, client: Client, seed: int, *, deaths: int, death: Death | None = None) -> None:
        self.notes = Notes()
        self._server, self._client, self._seed, self._deaths = server, client, seed, deaths
        self._death: Death = death or Kill(server)
        self.notes.history.all_survives = self._death.all_survives
        self._partitions: list[TopicPartition] = [(TOPIC, number) for number in range(PARTITIONS)]
        self._is_over = threading.Event()

    def run(self) -> History:
        self._make_topics()
        threads = {name: threading.Thread(target=self._play, args=(name, it)) for name, it in self._cast().items()}
        for thread in threads.values():
            thread.start()
        try:
            self._let_die_again_and_again()
        finally:
            self._is_over.set()
            for thread in threads.values():
                thread.join(2 * PATIENCE_S)
        self.notes.failures += [f"{name} does not come to its end" for name, it in threads.items() if it.is_alive()]
        assert not self.notes.failures, self.notes.failures
        self._settle()
        read_all(self.notes, self._server.address, self._partitions, [group_of(each) for each in IDS])
        self.notes.close()
        return self.notes.history

    def _dice(self, who: str) -> random.Random:
        return random.Random(f"{self._seed}/{who}")

    def _cast(self) -> dict[str, Program]:
        """Each id has a program; the first one has a rival, too."""
        notes, client, partitions, is_over = self.notes, self._client, self._partitions, self._is_over
        cast: dict[str, Program] = {}
        positions = {each: itertools.count(1) for each in IDS}
        for name, transactional_id in (("a", IDS[0]), ("rival", IDS[0]), ("b", IDS[1])):
            dice, at = self._dice(name), positions[transactional_id]
            shared = notes, client, name, transactional_id, partitions, at, dice, is_over
            cast[name] = Transactor(*shared, is_rival=name == "rival")
        cast["i"] = Idempotent(notes, client, "i", partitions, self._dice("i"), is_over)
        for name, is_committed in (("committed", True), ("all", False)):
            cast[name] = client.new_reader(notes, name, partitions, is_over, is_committed=is_committed)
        cast["offsets"] = OffsetReader(notes, self._server.address, [group_of(each) for each in IDS], is_over)
        return cast

    def _play(self, name: str, program: Program) -> None:
        try:
            program.run()
        except Exception as problem:
            self.notes.fail(f"{name}: {problem!r}, {traceback.format_exc()}")

    def _let_die_again_and_again(self) -> None:
        """At any time, or just when a program has requested the end of a transaction."""
        dice, notes = self._dice("kills"), self.notes
        for _ in range(self._deaths):
            self._wait_for_ends()
            if dice.random() < 0.5:
                self._wait_for_asked()
                self._is_over.wait(dice.uniform(0, 0.01))
            else:
                self._is_over.wait(dice.uniform(0, 0.3))
            self._death.die()
            notes.event("killed")
            notes.boots += 1
            self._death.come_back()
            notes.event("started")
        self._wait_for_ends()

    def _wait_for_ends(self) -> None:
        enough = self.notes.ends_answered + ENDS_BETWEEN_DEATHS
        self.notes.wait(lambda: self.notes.ends_answered >= enough, PATIENCE_S)

    def _wait_for_asked(self) -> None:
        enough = self.notes.ends_asked + 1
        self.notes.wait(lambda: self.notes.ends_asked >= enough, PATIENCE_S)

    def _settle(self) -> None:
        """A transaction that stays open is found by a rule, not here."""
        try:
            until(lambda: is_settled(self._server.address, self._partitions), SETTLE_S)
        except AssertionError:
            self.notes.event("not settled")

    def _make_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._server.address})
        topics = [NewTopic(TOPIC, PARTITIONS), NewTopic(INPUT[0], 1)]
        for future in admin.create_topics(topics).values():
            future.result(timeout=PATIENCE_S)
        until(lambda: {TOPIC, INPUT[0]} <= set(admin.list_topics(timeout=PATIENCE_S).topics))
