"""Answers that stand on what happened: producers that are fenced by real requests, and whose transactions are."""

import pytest

from barnabas.protocol.errors import ErrorCode
from tests.broker.control.faults.test_point_faults import FaultyTransactions
from tests.support.inspected_broker import Inspected
from tests.support.requests import BY_NAME, add_partitions, end_txn, init_producer, produce
from tests.support.why import Asked, RememberedEvents
from tests.support.worlds.broker import settle
from tests.support.worlds.told import Asking

NONE = ErrorCode.NONE


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"t": 1})


@pytest.fixture
async def asked(world: Inspected) -> Asked:
    return Asked(world.services, RememberedEvents(world))


class Client(Asking):
    """A transactional producer, request by request."""

    async def init(self, timeout_ms: int = 60_000) -> None:
        answer = await self.ask(init_producer(timeout_ms=timeout_ms), 5)
        assert answer.error_code == NONE
        self.producer = answer.producer_id, answer.producer_epoch

    async def init_through(self) -> None:
        """As often as it takes until the transaction of the one before is aborted."""
        while True:
            answer = await self.ask(init_producer(), 5)
            if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                assert answer.error_code == NONE
                self.producer = answer.producer_id, answer.producer_epoch
                return

    async def produce(self) -> int:
        batch = self.world.batch(b"v", producer=(*self.producer, 0), transactional=True)
        answer = await self.ask(produce(batch, transactional_id="tx"), BY_NAME)
        code: int = answer.responses[0].partition_responses[0].error_code
        return code

    async def end(self) -> int:
        answer = await self.ask(end_txn("tx", self.producer), 5)
        return int(answer.error_code)

    async def add(self) -> int:
        answer = await self.ask(add_partitions("tx", self.producer, ("t", [0])), 3)
        return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


async def test_whose_init_producer_id_fenced_it(world: Inspected, asked: Asked) -> None:
    old, new = Client(world), Client(world)
    await old.init()
    assert await old.produce() == NONE
    world.clock.advance(1_000)
    await new.init_through()
    world.clock.advance(3_000)
    assert await old.end() == ErrorCode.PRODUCER_FENCED
    world.clock.advance(500)
    answer = await asked.producer("tx")
    assert answer.sentences[0].startswith(
        f"EndTxn of transactional id tx by client test from {old.peer.connection.peer} with producer 0 epoch 0 "
        "was refused 500 ms ago: PRODUCER_FENCED (it has producer epoch 0, but the transactional id has "
    ), answer
    assert answer.sentences[1].startswith(
        f"Another InitProducerId by client test from {new.peer.connection.peer} came 3.5 s ago, at "
    ), answer


async def test_a_fenced_produce(world: Inspected, asked: Asked) -> None:
    old, new = Client(world), Client(world)
    await old.init()
    assert await old.produce() == NONE
    await new.init_through()
    assert await old.produce() != NONE
    answer = str(await asked.producer("tx"))
    assert "Produce of transactional id tx by client test" in answer
    assert "Another InitProducerId by client test" in answer


@pytest.mark.parametrize("step", ["transaction.prepared", "transaction.marker_written", "transaction.marked"])
async def test_a_fault_holds_the_end_up(step: str) -> None:
    world = FaultyTransactions()
    world.arm(step, "pause")
    await world.committed()
    asked = Asked(world.broker.services, held_up=world.held_up())
    told = (
        f"Its commit is decided, and fault f holds it up at the step {step}, for 0 ms so far: "
        "`barnabas faults release f` resumes it."
    )
    assert told in (await asked.producer("tx")).sentences
    record = await asked.record("t", 0, 0)
    if step == "transaction.marked":
        assert "Every consumer can see it." in record.sentences
    else:
        assert told in record.sentences
    world.registry.release("f")
    await settle()
    assert "is committed" in str(await asked.record("t", 0, 0))
    assert "waits for nothing" in str(await asked.producer("tx"))
    world.registry.close()
    await world.close()


async def test_a_timeout_fenced_it(world: Inspected, asked: Asked) -> None:
    slow = Client(world)
    await slow.init(timeout_ms=1_000)
    assert await slow.produce() == NONE
    await world.advance(20_000)
    answer = await asked.producer("tx")
    assert answer.sentences[0].startswith("Its transaction was aborted for its timeout"), answer
    assert await slow.end() == ErrorCode.INVALID_TXN_STATE
    answer = await asked.producer("tx")
    assert "was refused 0 ms ago: INVALID_TXN_STATE (its transaction is CompleteAbort)." in answer.sentences[0]
    assert answer.sentences[1].startswith("Its transaction was aborted for its timeout"), answer


async def test_an_id_that_expired_refused_it(world: Inspected, asked: Asked) -> None:
    idle = Client(world)
    await idle.init()
    for _ in range(8 * 24):
        await world.advance(3_600_000)
    assert await idle.add() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    answer = await asked.producer("tx")
    assert answer.sentences[0].startswith("AddPartitionsToTxn of transactional id tx by client test from "), answer
    assert "was refused 0 ms ago: INVALID_PRODUCER_ID_MAPPING" in answer.sentences[0]
    assert answer.sentences[1].startswith("There is no transactional id tx: it expired 1 d ago, at "), answer
    assert answer.sentences[1].endswith("InitProducerId creates it again.")


async def test_the_owner_of_a_blocking_transaction_and_the_producer_of_a_record(world: Inspected, asked: Asked) -> None:
    client = Client(world)
    await client.init()
    assert await client.add() == NONE
    assert await client.produce() == NONE
    await world.commit("g", "t", 0)
    peer = client.peer.connection.peer
    assert f"(producer 0, epoch 0, client test from {peer}), begun" in str(await asked.consumer("g"))
    assert await client.end() == NONE
    await settle()
    assert f"It was written by client test from {peer}." in str(await asked.record("t", 0, 0))
