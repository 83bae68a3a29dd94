"""A play of stock clients over a real broker that is killed: who takes part, when it is killed, and how it ends.

What is drawn comes from a seed. What happens does not: threads, processes and the disk go their own ways, so the same
seed asks for the same things, and may get other answers.
"""

from __future__ import annotations

import itertools
import random
import threading
import traceback
from typing import Protocol

from confluent_kafka.admin import AdminClient, NewTopic

from tests.simulation.history.history import History, TopicPartition
from tests.support.histories.librdkafka_producers import INPUT, PATIENCE_S, Idempotent, Transactor, group_of
from tests.support.histories.librdkafka_readers import OffsetReader, Reader, is_settled, read_all
from tests.support.histories.notes import Notes
from tests.support.processes.server import Server
from tests.support.waiting import until

TOPIC = "histories"
PARTITIONS = 3
IDS = ("tx0", "tx1")
ENDS_BETWEEN_KILLS = 8
SETTLE_S = 30.0


class _Program(Protocol):
    def run(self) -> None: ...


class Play:
    """One of them; `run` gives its history."""

    def __init__(self, server: Server, seed: int, *, kills: int) -> None:
        self.notes = Notes()
        self._server, self._seed, self._kills = server, seed, kills
        self._partitions: list[TopicPartition] = [(TOPIC, number) for number in range(PARTITIONS)]
        self._is_over = threading.Event()

    def run(self) -> History:
        self._make_topics()
        threads = {name: threading.Thread(target=self._play, args=(name, it)) for name, it in self._cast().items()}
        for thread in threads.values():
            thread.start()
        try:
            self._kill_again_and_again()
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

    def _cast(self) -> dict[str, _Program]:
        """Each id has a program; the first one has a rival, too."""
        notes, address, partitions, is_over = self.notes, self._server.address, self._partitions, self._is_over
        cast: dict[str, _Program] = {}
        positions = {each: itertools.count(1) for each in IDS}
        for name, transactional_id in (("a", IDS[0]), ("rival", IDS[0]), ("b", IDS[1])):
            dice, at = self._dice(name), positions[transactional_id]
            shared = notes, address, name, transactional_id, partitions, at, dice, is_over
            cast[name] = Transactor(*shared, is_rival=name == "rival")
        cast["i"] = Idempotent(notes, address, "i", partitions, self._dice("i"), is_over)
        for name, is_committed in (("committed", True), ("all", False)):
            cast[name] = Reader(notes, address, name, partitions, is_over, is_committed=is_committed)
        cast["offsets"] = OffsetReader(notes, address, [group_of(each) for each in IDS], is_over)
        return cast

    def _play(self, name: str, program: _Program) -> None:
        try:
            program.run()
        except Exception as problem:
            self.notes.fail(f"{name}: {problem!r}, {traceback.format_exc()}")

    def _kill_again_and_again(self) -> None:
        """At any time, or just when a program has asked for the end of a transaction."""
        dice, notes = self._dice("kills"), self.notes
        for _ in range(self._kills):
            self._wait_for_ends()
            if dice.random() < 0.5:
                self._wait_for_asked()
                self._is_over.wait(dice.uniform(0, 0.01))
            else:
                self._is_over.wait(dice.uniform(0, 0.3))
            self._server.kill()
            notes.event("killed")
            notes.boots += 1
            self._server.start()
            notes.event("started")
        self._wait_for_ends()

    def _wait_for_ends(self) -> None:
        enough = self.notes.ends_answered + ENDS_BETWEEN_KILLS
        self.notes.wait(lambda: self.notes.ends_answered >= enough, PATIENCE_S)

    def _wait_for_asked(self) -> None:
        enough = self.notes.ends_asked + 1
        self.notes.wait(lambda: self.notes.ends_asked >= enough, PATIENCE_S)

    def _settle(self) -> None:
        """Where a transaction stays open, a rule says so, and not this."""
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
