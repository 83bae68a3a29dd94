"""Members come and go at random, from one seed, while somebody writes."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException, Producer

from tests.compat.chaos.ledger import Ledger
from tests.compat.chaos.members import DEADLINE_S, Member
from tests.support.waiting import until


class Writer:
    """Writes to a topic, at a steady pace, until it is told to end. `ends`: partition -> the offset behind the last."""

    def __init__(self, address: str, topic: str) -> None:
        self.ends: dict[int, int] = {}
        self._producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "enable.idempotence": True})
        self._topic = topic
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while not self._ending.wait(0.02):
            for _ in range(20):
                self._producer.produce(self._topic, b"%d" % number, key=b"%d" % number, on_delivery=self._delivered)
                number += 1
            self._producer.poll(0)

    def _delivered(self, error: Any, stored: Any) -> None:
        if error is not None:
            raise KafkaException(error)
        self.ends[stored.partition()] = max(self.ends.get(stored.partition(), 0), stored.offset() + 1)

    def end(self) -> Mapping[int, int]:
        """Stop writing; what was written, all of it acknowledged."""
        self._ending.set()
        self._thread.join()
        assert self._producer.flush(DEADLINE_S) == 0
        return self.ends


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


def play(
    address: str,
    topic: str,
    kinds: Sequence[Callable[..., Member]],
    *,
    is_static: bool,
    seed: int,
    moves: int,
    session_timeout_ms: int,
    before_move: Callable[[int], None] = lambda _: None,
) -> Ledger:
    """The members of `kinds` come and go `moves` times, then all come and read everything to its end.

    The topic exists and is empty; the group is named after it.
    """
    dice = random.Random(seed)
    ledger = Ledger()
    living: dict[int, Member] = {}
    lives = 0

    def join(slot: int) -> None:
        nonlocal lives
        lives += 1
        instance = f"instance-{slot}" if is_static else None
        owner = instance or f"{slot} (life {lives})"
        living[slot] = kinds[slot](
            address, topic, ledger, owner, instance=instance, session_timeout_ms=session_timeout_ms
        )

    writer = Writer(address, topic)
    watch = Watch(ledger, session_timeout_ms / 2_000)
    try:
        join(0)
        for number in range(moves):
            before_move(number)
            slot = dice.randrange(len(kinds))
            if slot in living:
                living.pop(slot).leave()
            else:
                join(slot)
            threading.Event().wait(dice.choice((0.0, 0.1, 0.3, 0.6)))  # so that some moves meet a rebalance
        ends = writer.end()
        for slot in range(len(kinds)):
            if slot not in living:
                join(slot)
        until(lambda: ledger.has_read(ends), DEADLINE_S)
    finally:
        watch.end()
        writer.end()
        for member in living.values():
            member.leave()
    return ledger
