"""Why a transactional producer was fenced or refused, and what its EndTxn waits for."""

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from tests.support.files.memory_files import MemoryFiles
from tests.support.inspected_broker import Inspected
from tests.support.why import Asked
from tests.support.worlds.transactional_broker import TransactionalBroker


async def test_an_id_that_nobody_used(world: Inspected, asked: Asked) -> None:
    answer = str(await asked.producer("tx"))
    assert answer == "There is no transactional id tx: no producer sent InitProducerId for it, or it expired."
    assert "__transaction_state" not in world.services.catalogue.topics, "asking changes nothing"
    await world.init("other")
    assert str(await asked.producer("tx")) == answer
    assert "no transactional id othr (did you mean other?): no producer" in str(await asked.producer("othr"))


async def test_an_id_that_waits_for_nothing(world: Inspected, asked: Asked) -> None:
    await world.init("tx")
    world.clock.advance(5_000)
    assert "waits for nothing: no transaction is open, and InitProducerId came 5 s ago." in str(
        await asked.producer("tx")
    )
    mine = await world.begin("tx", ("t", 0))
    await world.end("tx", mine, is_commit=True)
    world.clock.advance(5_000)
    answer = str(await asked.producer("tx"))
    assert "no transaction is open, and the last one was committed 5 s ago." in answer
    assert "It is held by producer 0 with epoch 2: requests with a lower epoch" in answer


async def test_an_open_transaction(world: Inspected, asked: Asked) -> None:
    await world.begin("tx", ("t", 0), ("t", 1))
    world.clock.advance(1_500)
    answer = await asked.producer("tx")
    assert list(answer.sentences[:2]) == [
        "Transactional id tx has a transaction in t-0 and t-1: it is Ongoing, begun 1.5 s ago.",
        "It ends when its producer sends EndTxn, or by its timeout in 9 min 58 s (at 2023-11-14T22:23:20.000Z); "
        "`barnabas txn abort tx` ends it now.",
    ]


async def test_an_end_that_waits_for_a_disk() -> None:
    world = TransactionalBroker()
    producer = await world.written(0, 1)
    world.files.fail("pwrite", path="/t-1/")
    await producer.end(commit=False)
    await world.advance(2_000)
    assert world.txn().state is TransactionState.PREPARE_ABORT
    answer = str(await Asked(world.broker.services).producer("tx"))
    assert "EndTxn and InitProducerId are answered CONCURRENT_TRANSACTIONS until it is complete." in answer
    assert "Its abort is decided, and 1 partition did not accept the marker yet" in answer
    assert "t-1: KAFKA_STORAGE_ERROR." in answer
    world.files.heal()
    await world.advance(2_000)
    assert "the last one was aborted" in str(await Asked(world.broker.services).producer("tx"))
    await world.until(world.close())


async def test_a_partition_that_was_deleted_holds_nothing_up() -> None:
    world = TransactionalBroker()
    producer = await world.written(0, 1)
    world.broker.services.catalogue.delete_topics(["t"])
    await producer.end(commit=True)
    await world.advance(1_000)
    assert "the last one was committed" in str(await Asked(world.broker.services).producer("tx"))
    await world.until(world.close())


async def test_a_coordinator_that_cannot_read_its_log(world: Inspected) -> None:
    files = MemoryFiles(0)
    first = Inspected(files)
    await first.init("tx")
    await first.close()
    files.fail("pread", path="__transaction_state")
    again = Inspected(files)
    answer = str(await Asked(again.services).producer("tx"))
    assert answer.startswith("The coordinator of transactional id tx is not available: "), answer
    files.heal()
