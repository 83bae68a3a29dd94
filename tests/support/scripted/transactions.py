"""A transactional producer at a scripted coordinator, and whether it continues as it should."""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.client.client import Client
from barnabas.client.produce.batching import Delivery
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.client.transactions.states import TransactionalProducerState
from tests.support.client_clock import StandingClock
from tests.support.scripted.coordinator import ScriptedCoordinator


@contextmanager
def ready(transaction_version: int) -> Iterator[tuple[ScriptedCoordinator, TransactionalProducer]]:
    """A broker at this level and a producer that was initialised."""
    with (
        ScriptedCoordinator(transaction_version) as broker,
        Client(broker.address, clock=StandingClock(), timeout_ms=5000) as client,
    ):
        producer = TransactionalProducer(client, "id", delivery_timeout_ms=5000)
        producer.init()
        yield broker, producer


def begin(producer: TransactionalProducer) -> Delivery:
    """A transaction with a record in it."""
    producer.begin()
    return producer.send("t", b"a", partition=0)


def assert_ready_for_the_next(broker: ScriptedCoordinator, producer: TransactionalProducer) -> None:
    """What is sent next has the epoch the broker gave last, and the first sequence number."""
    producer.begin()
    delivery = producer.send("t", b"next", partition=0)
    producer.flush()
    assert delivery.result() == 100
    header = list(broker.batches())[-1]
    assert (header.producer_epoch, header.base_sequence) == (broker.producer_epoch, 0)
    producer.commit()
    assert producer.state is TransactionalProducerState.READY
