"""The shop: transactional producers that write orders, and abort some of their transactions.

Each producer is a thread with a separate client. Order time runs faster than real time, so that minutes pass during
the demo. The outcome that a producer got counts: `committed` orders have to be there, `aborted` ones must not be, and
those in doubt (a commit without an answer) may or may not be.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field

from barnabas.client.client import Client
from barnabas.client.clock import SystemClientClock
from barnabas.client.transactions.errors import OutcomeUnknown
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.errors import KafkaError
from pipeline.demo.notes import Notes
from pipeline.demo.orders import OrderStream

SPEED = 60  # minutes of order time per minute of real time
START_BEFORE_MS = 10 * 3600 * 1000
ABORT_SHARE = 0.2
ORDERS_PER_TRANSACTION = 100
_PARTS = 4  # the parts in which a transaction's orders are sent


@dataclass
class ShopTally:
    """The outcomes that the producers got, in orders and in transactions."""

    orders: Counter[str] = field(default_factory=Counter)
    transactions: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, outcome: str, orders: int) -> None:
        """Count a transaction: committed, aborted or in doubt."""
        with self.lock:
            self.orders[outcome] += orders
            self.transactions[outcome] += 1


class Shop:
    """The producers, which write until the shop is closed."""

    def __init__(self, bootstrap: str, topic: str, notes: Notes, *, seed: int, producers: int, rate: float) -> None:
        self.tally = ShopTally()
        self._bootstrap = bootstrap
        self._topic = topic
        self._notes = notes
        self._stopped = threading.Event()
        self._order_s = producers / rate
        self._threads = [
            threading.Thread(target=self._work, args=(number, seed * 1000 + number), daemon=True)
            for number in range(producers)
        ]

    def open(self) -> None:
        """Begin to write."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop writing, and wait until every transaction has ended."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int, seed: int) -> None:
        stream, randomness = OrderStream(seed), random.Random(seed)
        while not self._stopped.is_set():
            try:
                with Client(self._bootstrap, client_id=f"shop-{number}") as client:
                    producer = TransactionalProducer(client, f"shop-{number}")
                    producer.init()
                    while not self._stopped.is_set():
                        self._write(producer, stream, randomness)
            except (KafkaError, OSError) as error:  # the next one fences this one's transaction, and aborts it
                self._notes.write("shop", producer=number, error=str(error))
                self._stopped.wait(0.5)

    def _write(self, producer: TransactionalProducer, stream: OrderStream, randomness: random.Random) -> None:
        """Write one transaction, to its end; orders come in at their rate, so it stays open for a while."""
        outcome, count = "aborted", randomness.randint(_PARTS, 2 * ORDERS_PER_TRANSACTION)
        try:
            producer.begin()
            for part in range(_PARTS):
                for _ in range(part, count, _PARTS):
                    order = stream.next(self._order_time_ms())
                    producer.send(self._topic, order.value, key=order.key)
                producer.flush()
                self._stopped.wait(self._order_s * count / _PARTS)
            if randomness.random() < ABORT_SHARE:
                producer.abort()
            else:
                outcome = "in doubt"
                _commit(producer)
                outcome = "committed"
        finally:
            self.tally.add(outcome, count)

    def _order_time_ms(self) -> int:
        return round(self._notes.began_ms - START_BEFORE_MS + self._notes.now_s() * 1000 * SPEED)


def _commit(producer: TransactionalProducer) -> None:
    """Commit, and retry while the outcome is unknown."""
    deadline = SystemClientClock().monotonic() + 60
    while True:
        try:
            producer.commit()
        except OutcomeUnknown:
            if SystemClientClock().monotonic() > deadline:
                raise
            continue
        return
