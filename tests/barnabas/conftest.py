"""A broker in a process and in a thread, and something to write to it with."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from barnabas import Barnabas
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.client.transactions.producer import TransactionalProducer
from tests.support.clients.committed import begun

NewBroker = Callable[..., Barnabas]


@pytest.fixture(params=["process", "thread"])
def new_broker(request: pytest.FixtureRequest) -> Iterator[NewBroker]:
    """new_broker(**settings): a started broker, once as a process of its own and once as a thread."""
    with ExitStack() as brokers:
        yield lambda **settings: brokers.enter_context(Barnabas(**settings, in_process=request.param == "thread"))


@pytest.fixture
def broker(new_broker: NewBroker) -> Barnabas:
    return new_broker(topics={"orders": 2})


class Writer:
    """Writes to a broker, in transactions and without."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def write(self, broker: Barnabas, *values: bytes, partition: int = 0, topic: str = "orders") -> None:
        with Client(broker.bootstrap_servers) as client, Producer(client) as producer:
            for value in values:
                producer.send(topic, value, partition=partition)

    def begin(self, broker: Barnabas, transactional_id: str, *values: bytes) -> TransactionalProducer:
        """A transaction with these records in orders-0, flushed and left open."""
        client = self._stack.enter_context(Client(broker.bootstrap_servers))
        return begun(client, transactional_id, *values, topic="orders")

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def writer() -> Iterator[Writer]:
    writer = Writer()
    yield writer
    writer.close()
