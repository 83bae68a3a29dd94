"""SIGKILL at random instants, under programs that write transactions over 300 partitions each, of topics of their own.

After each restart every program looks before it goes on: each of its transactions is there whole or not at all, in one
Fetch over all partitions and in its group's offset, and nothing that was acknowledged is lost.
"""

import asyncio
from pathlib import Path
from random import Random

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from tests.support.processes.killed_broker import KilledBroker, Line
from tests.support.processes.own_broker import OwnBroker
from tests.support.stories.transaction_program import TransactionProgram

PARTITIONS = 300
KILLS_IN_CI, KILLS_LONG = 10, 200
KILLS_PER_DIRECTORY = 10
DELAY_S_MAX = 0.2
TIMEOUT_PER_KILL_S = 60
SETTINGS = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}


@pytest.fixture(autouse=True)
def where_threads_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a broker that is aborted print it: KilledBroker does so with one that gives no answer."""
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")


class Load:
    """Programs that write transaction after transaction until `stopped`; each that is ended is told in `ended`."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self.ended: asyncio.Queue[None] = asyncio.Queue()

    async def write(self, program: TransactionProgram, dice: Random) -> None:
        """Commit, abort, or let a next instance take over; at last commit once more."""
        await program.init()
        while not self.stopped.is_set():
            program.begin()
            await program.send(*range(PARTITIONS))
            await program.send_offset(len(program.transactions))
            if dice.random() < 0.1:
                await program.init()
            else:
                await program.end(commit=dice.random() < 0.7)
            self.ended.put_nowait(None)
        program.begin()
        await program.send(*range(PARTITIONS))
        await program.end(commit=True)
        await program.init()  # waits for what is on its way
        await program.check()

    async def until_ended(self, count: int) -> None:
        """Until so many more transactions are ended."""
        while not self.ended.empty():
            self.ended.get_nowait()
        for _ in range(count):
            await self.ended.get()


async def die_often(data_dir: Path, dice: Random, kills: int, protocol: int) -> None:
    """One data directory's life."""
    with OwnBroker(data_dir, SETTINGS) as server:
        broker = KilledBroker(server)
        lines = [Line(broker) for _ in range(2)]
        programs = [TransactionProgram(line, protocol, PARTITIONS, f"tx-{index}") for index, line in enumerate(lines)]
        for line, program in zip(lines, programs, strict=True):
            created = await line.ask(CreateTopicsRequest(topics=program.topics), 7)
            assert {topic.error_code for topic in created.topics} == {ErrorCode.NONE}
        load = Load()

        async def kill() -> None:
            for _ in range(kills):
                await load.until_ended(dice.randrange(4))
                await broker.kill_after(dice.uniform(0, DELAY_S_MAX))
            load.stopped.set()

        writing = (load.write(program, Random(dice.random())) for program in programs)
        await asyncio.wait_for(asyncio.gather(kill(), *writing), TIMEOUT_PER_KILL_S * kills)
        for program in programs:
            await program.check_nothing_hangs()
        for line in lines:
            await line.close()
        assert " ERROR " not in server.log
        assert server.stop() == 0


@pytest.mark.parametrize("protocol", [1, pytest.param(2, marks=pytest.mark.both_forms)])
def test_a_killed_broker_leaves_transactions_whole_or_absent(tmp_path: Path, seed: int, protocol: int) -> None:
    asyncio.run(die_often(tmp_path / "data", Random(seed), KILLS_IN_CI // 2, protocol))


@pytest.mark.long
@pytest.mark.parametrize("protocol", [1, 2])
def test_two_hundred_times(tmp_path: Path, seed: int, protocol: int) -> None:
    dice = Random(seed)
    for life in range(KILLS_LONG // 2 // KILLS_PER_DIRECTORY):
        asyncio.run(die_often(tmp_path / f"data-{life}", dice, KILLS_PER_DIRECTORY, protocol))
