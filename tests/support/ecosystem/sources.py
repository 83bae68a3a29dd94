"""What a row's program copies: the numbers "0", "1", … from a topic of three partitions, or from a table."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import Producer

from tests.support.ecosystem.postgresql import postgresql
from tests.support.ecosystem.row import Row
from tests.transactions.views import make_topics, write

_TOPIC = "in"


class NumberSource(Protocol):
    """Where the numbers are written that a program copies."""

    @property
    def place(self) -> str:
        """The argument SOURCE of the program."""

    def write(self, count: int, first: int = 0) -> None:
        """Write `count` numbers from `first` on."""


@dataclass(frozen=True)
class _Topic:
    """A topic of the broker that is killed."""

    address: str
    place: str = _TOPIC

    def write(self, count: int, first: int = 0) -> None:
        write(self.address, self.place, count, first)


@contextmanager
def source_of(row: Row, address: str) -> Iterator[NumberSource]:
    """Make the source of a row; a topic has an aborted record, too, if its program can leave it out."""
    if row.reads_table:
        with postgresql() as table:
            yield table
    else:
        make_topics(address, _TOPIC)
        if row.reads_committed:
            _abort_one(address)
        yield _Topic(address)


def _abort_one(address: str) -> None:
    """Write a record that no copy may have, in a transaction that is aborted."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": "aborting"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(_TOPIC, value="aborted")
    producer.flush()
    producer.abort_transaction()
