"""Members come and go at random, from one seed, while somebody writes."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from confluent_kafka import KafkaException, Producer

from tests.compat.chaos.ledger import Ledger
from tests.compat.chaos.members import DEADLINE_S, Member
from tests.compat.chaos.watches import Watch
from tests.support.waiting import until

READ_WITHIN_S = 120.0  # what everybody joins for: a session may have to end first, and programs start slowly


class Writer:
    """Writes to a topic, 20 records in each `pause_s`, until it is told to end.

    ends: partition -> the offset behind the last. acknowledged: (partition, offset) -> the value there.
    """

    def __init__(self, address: str, topic: str, pause_s: float = 0.02) -> None:
        self._pause_s = pause_s
        self.ends: dict[int, int] = {}
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self._producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "enable.idempotence": True})
        self._is_closed = False
        self._topic = topic
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while not self._ending.wait(self._pause_s):
            for _ in range(20):
                self._producer.produce(self._topic, b"%d" % number, key=b"%d" % number, on_delivery=self._delivered)
                number += 1
            self._producer.poll(0)

    def _delivered(self, error: Any, stored: Any) -> None:
        if error is not None:
            raise KafkaException(error)
        self.ends[stored.partition()] = max(self.ends.get(stored.partition(), 0), stored.offset() + 1)
        self.acknowledged[stored.partition(), stored.offset()] = stored.value()

    def end(self) -> Mapping[int, int]:
        """Stop writing; what was written, all of it acknowledged."""
        self._ending.set()
        self._thread.join()
        if not self._is_closed:
            assert self._producer.flush(DEADLINE_S) == 0
            # Left to the garbage collection, it would look for its broker long after that has gone, and say so.
            self._is_closed = self._producer.close()
        return self.ends


class Play:
    """One group, named after its topic, which exists and is empty; somebody writes until everybody has come.

    living: slot -> the member that is there. `dice` come from the seed, and decide everything that is left to chance.
    """

    def __init__(
        self,
        address: str,
        topic: str,
        kinds: Sequence[Callable[..., Member]],
        *,
        is_static: bool,
        seed: int,
        session_timeout_ms: int,
    ) -> None:
        self.address, self.topic = address, topic
        self.dice = random.Random(seed)
        self.ledger = Ledger()
        self.living: dict[int, Member] = {}
        self._kinds, self._is_static, self._session_timeout_ms = kinds, is_static, session_timeout_ms
        self._lives = 0
        self.writer = Writer(address, topic)
        self._watch = Watch(self.ledger, session_timeout_ms / 2_000)

    def join(self, slot: int) -> None:
        self._lives += 1
        instance = f"instance-{slot}" if self._is_static else None
        owner = instance or f"{slot} (life {self._lives})"
        self.living[slot] = self._kinds[slot](
            self.address, self.topic, self.ledger, owner, instance=instance, session_timeout_ms=self._session_timeout_ms
        )

    def move(self, end: Callable[[Member], None] = Member.leave) -> None:
        """Somebody comes, or somebody who is there ends its life."""
        slot = self.dice.randrange(len(self._kinds))
        if slot in self.living:
            end(self.living.pop(slot))
        else:
            self.join(slot)
        threading.Event().wait(self.dice.choice((0.0, 0.1, 0.3, 0.6)))  # so that some moves meet a rebalance

    def read_to_the_end(self) -> None:
        """Nobody writes any more, everybody comes, and together they read everything."""
        ends = self.writer.end()
        for slot in range(len(self._kinds)):
            if slot not in self.living:
                self.join(slot)
        until(lambda: self.ledger.has_read(ends), READ_WITHIN_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.end()
        self.writer.end()
        for member in self.living.values():
            member.leave()


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
    """The members of `kinds` come and go `moves` times, then all come and read everything to its end."""
    with Play(address, topic, kinds, is_static=is_static, seed=seed, session_timeout_ms=session_timeout_ms) as playing:
        playing.join(0)
        for number in range(moves):
            before_move(number)
            playing.move()
        playing.read_to_the_end()
    return playing.ledger
