"""A program takes part in a two-phase commit with a database, and dies between the two phases (KIP-939).

The whole broker, without sockets: what was prepared outlives a kill of program and broker, whoever comes back finds it
by the id and epoch in the database, and decides; nobody reads any of it before.
"""

from typing import Any

import pytest

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.files.memory_files import MemoryFiles
from tests.support.requests import BY_NAME, end_txn, produce
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
_SETTINGS = {"transaction.two.phase.commit.enable": "true"}


class _Program:
    """What runs beside the database; `broker` is another one after each kill."""

    def __init__(self) -> None:
        self.files = MemoryFiles(0)
        self.world = BrokerWorld(_SETTINGS, self.files)
        self.world.services.catalogue.create_topic("t", 1)

    async def ask(self, request: Request, version: int) -> Any:
        peer = self.world.connect()
        await peer.put(request, version)
        return peer.answer()

    async def init(self, *, keep: bool) -> Any:
        request = InitProducerIdRequest(
            transactional_id="x", transaction_timeout_ms=60_000, enable2_pc=True, keep_prepared_txn=keep
        )
        return await self.ask(request, 6)

    async def produce(self, pair: tuple[int, int], value: bytes) -> ErrorCode:
        batch = self.world.batch(value, producer=(*pair, 0), transactional=True)
        answer = await self.ask(produce(batch, transactional_id="x"), BY_NAME)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    async def end(self, pair: tuple[int, int], *, committed: bool) -> Any:
        answer = await self.ask(end_txn("x", pair, committed), 5)
        await settle()
        return answer

    async def killed(self) -> None:
        """The broker is killed, and so is the program; both are started again."""
        await self.world.close()
        self.world = BrokerWorld(_SETTINGS, self.files)
        await self.world.broker.settle_transactions()

    def read(self) -> tuple[list[bytes | None], int]:
        """Every record below the last stable offset, whatever became of it; and how many transactions were aborted."""
        log = self.world.services.partitions.get("t", 0)
        result = log.read(0, 1 << 20, committed=True, force_first_batch=True)
        data = result.read_all()
        values = [
            record.value
            for position, header in iter_batches(data)
            if not header.is_control
            for record in iter_records(data[position : position + header.size_in_bytes])
        ]
        return values, len(result.aborted or ())

    def state(self) -> TransactionState:
        txn = self.world.services.transactions.describe("x")
        assert txn is not None
        return txn.state


@pytest.mark.parametrize("committed", [True, False])
async def test_prepared_transactions_survive_every_restart(committed: bool) -> None:
    program = _Program()
    begun = await program.init(keep=False)
    in_the_database = (begun.producer_id, begun.producer_epoch)
    assert await program.produce(in_the_database, b"prepared") is E.NONE

    for times_killed in (1, 2):
        await program.killed()
        program.world.clock.advance(60 * 60 * 1000)
        assert program.state() is TransactionState.ONGOING, "there is no timeout"
        back = await program.init(keep=True)
        assert back.error_code == E.NONE
        assert (back.ongoing_txn_producer_id, back.ongoing_txn_producer_epoch) == in_the_database
        assert back.producer_epoch == times_killed
        assert program.read() == ([], 0)

    assert (await program.end(in_the_database, committed=True)).error_code == E.PRODUCER_FENCED
    ended = await program.end((back.producer_id, back.producer_epoch), committed=committed)
    assert ended.error_code == E.NONE
    assert program.read() == ([b"prepared"], 0 if committed else 1)

    going_on = (ended.producer_id, ended.producer_epoch)
    assert await program.produce(going_on, b"next") is E.NONE
    assert (await program.end(going_on, committed=True)).error_code == E.NONE
    assert program.read() == ([b"prepared", b"next"], 0 if committed else 1)
    await program.world.close()


async def test_a_reused_transaction_needs_no_new_partition() -> None:
    program = _Program()
    begun = await program.init(keep=False)
    assert await program.produce((begun.producer_id, begun.producer_epoch), b"prepared") is E.NONE
    back = await program.init(keep=True)
    keeper = (back.producer_id, back.producer_epoch)
    assert await program.produce(keeper, b"too late") is E.INVALID_TXN_STATE
    assert (await program.end(keeper, committed=True)).error_code == E.NONE
    assert program.read() == ([b"prepared"], 0)
    await program.world.close()


async def test_giving_up_is_to_begin_without_keeping() -> None:
    program = _Program()
    begun = await program.init(keep=False)
    assert await program.produce((begun.producer_id, begun.producer_epoch), b"prepared") is E.NONE
    await program.init(keep=True)
    assert (await program.init(keep=False)).error_code == E.CONCURRENT_TRANSACTIONS
    await settle()
    assert program.state() is TransactionState.COMPLETE_ABORT
    assert program.read() == ([b"prepared"], 1)
    again = await program.init(keep=False)
    assert (again.error_code, again.producer_epoch) == (E.NONE, 3)
    await program.world.close()
