"""The world stops after any write and any sync of a transactional program, and goes on over what is left.

Commit, abort, timeout, re-initialisation and offsets, in both protocols of KIP-890: once with everything kept that was
written, as a kill leaves it, and once with everything lost that was not synced, where every write is synced before its
answer (flush.messages=1).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from tests.support.files.memory_files import Survival
from tests.support.stories.transaction_program import Fate, TransactionProgram
from tests.support.worlds.mortal_broker import MortalBroker

SETTINGS = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}
SYNCED = {"log.flush.interval.messages": "1"}
PARTITIONS = 3
STRIDE = 3
AGAIN_IN_CI = 10


async def follow(program: TransactionProgram) -> None:
    """The script. Every step is answered at last, by whichever run of the broker."""
    await program.init()
    program.begin()
    await program.send(0, 1)
    await program.send_offset(5)
    await program.end(commit=True)
    program.begin()
    await program.send(1, 2)
    await program.send(1)
    await program.send_offset(6)
    await program.end(commit=False)
    program.begin()
    await program.send(0)
    await program.init()
    program.begin()
    await program.send(2, 0)
    await program.send_offset(9)
    await program.end(commit=True)
    program.begin()
    await program.send(1)
    await program.time_out()
    await program.init()
    program.begin()
    await program.send(0, 1, 2)
    await program.end(commit=True)


async def born(protocol: int, survival: Survival) -> tuple[MortalBroker, TransactionProgram]:
    """A broker with the program's topics, and the program before its first step."""
    broker = MortalBroker(SETTINGS | (SYNCED if survival == "nothing" else {}), survival)
    await broker.boot()
    program = TransactionProgram(broker, protocol, PARTITIONS)
    created = await broker.ask(CreateTopicsRequest(topics=program.topics), 7)
    assert {topic.error_code for topic in created.topics} == {ErrorCode.NONE}
    return broker, program


async def live(protocol: int, survival: Survival, *cuts: int) -> tuple[int, int]:
    """A whole life, and from which change of the disk to which the script went.

    cuts: before which change the power is cut first, and how many changes each of the next runs has.
    """
    broker, program = await born(protocol, survival)
    first = broker.files.changes_made
    broker.files.cut_power_at(cuts[0] if cuts else None)
    broker.cuts = list(cuts[1:])
    await follow(program)
    await program.check()
    await program.check_nothing_hangs()
    assert [txn.fate for txn in program.transactions] == FATES
    assert 1 <= broker.deaths <= len(cuts) if cuts else broker.deaths == 0
    last = broker.files.changes_made
    broker.files.cut_power_at(None)
    await broker.stop()
    return first, last


def run(protocol: int, survival: Survival, *cuts: int) -> tuple[int, int]:
    """`live`, on a loop of its own; what goes wrong says which life it was."""
    try:
        with buried():
            return asyncio.run(live(protocol, survival, *cuts))
    except Exception as error:
        raise AssertionError(f"live({protocol}, {survival!r}, {', '.join(map(str, cuts))}): {error}") from error


@contextmanager
def buried() -> Iterator[None]:
    """Dead brokers have much to say, and leave coroutines that nobody awaits: silence, and all of it swept up here."""
    logging.disable()
    gc.disable()
    try:
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            yield
            gc.collect()
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)


FATES = [Fate.COMMITTED, Fate.ABORTED, Fate.ABORTED, Fate.COMMITTED, Fate.ABORTED, Fate.COMMITTED]
every_way = pytest.mark.parametrize(
    ("protocol", "survival"), [(protocol, survival) for protocol in (1, 2) for survival in ("everything", "nothing")]
)


@every_way
def test_the_world_may_stop_at_any_change(protocol: int, survival: Survival, seed: int) -> None:
    """At every third, and at the others on other days."""
    first, last = run(protocol, survival)
    for cut in range(first + seed % STRIDE, last, STRIDE):
        run(protocol, survival, cut)


@every_way
def test_and_again_while_it_recovers(protocol: int, survival: Survival, seed: int) -> None:
    dice = Random(seed)
    first, last = run(protocol, survival)
    for _ in range(AGAIN_IN_CI):
        cuts = [dice.randrange(first, last), *(dice.randrange(1, 40) for _ in range(3))]
        run(protocol, survival, *cuts)


@pytest.mark.long
@every_way
def test_the_world_may_stop_at_every_change(protocol: int, survival: Survival, seed: int) -> None:
    dice = Random(seed)
    first, last = run(protocol, survival)
    for cut in range(first, last):
        run(protocol, survival, cut)
        for _ in range(3):
            run(protocol, survival, cut, *(dice.randrange(1, 60) for _ in range(4)))
