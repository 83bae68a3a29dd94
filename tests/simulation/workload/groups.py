"""The programs of a group's members: they read, commit, are slow, leave, die and come back.

Once it is calm they do nothing of that any more, and the group has to settle.
"""

import asyncio
import random
from collections.abc import Callable

from tests.simulation.clients.errors import Fenced, Unusable
from tests.simulation.clients.members.member import SESSION_MS, Member
from tests.simulation.clients.producer import Producer
from tests.simulation.history.history import History, Poll, TopicPartition
from tests.simulation.workload.transactions import go_on, live_again

_STRAY = 0.06  # how probable it is, each time, that a member is slow, leaves or dies
_THINKING = 0.05
_FOR_GOOD = 0.3  # how probable it is that one who left or died does not come back


async def membering(
    member: Member, history: History, dice: random.Random, is_calm: Callable[[], bool], is_over: Callable[[], bool]
) -> None:
    """Reads and commits, outside of transactions."""
    while not is_over():
        await member.stay()
        if await member.poll(dice.choice([0, 100])) and dice.random() < 0.6:
            await _think(dice, is_calm)
            await member.commit()
        await asyncio.sleep(dice.choice([0.05, 0.2, 0.4]))
        if not is_calm() and await _strays(member, dice):
            return
    history.settled.append(member.look_at_share())


async def _strays(member: Member, dice: random.Random) -> bool:
    """Sometimes it is slow, leaves or dies. Whether it is gone for good."""
    if dice.random() >= _STRAY:
        return False
    kind = dice.choice(["slow", "leaves", "dies"])
    if kind == "slow":
        await asyncio.sleep(dice.choice([0.5, 1.2]) * SESSION_MS / 1000)
    elif kind == "leaves":
        await member.leave()
    else:
        member.die()
    if kind != "slow":
        await asyncio.sleep(dice.choice([0.0, 0.5, 1.5 * SESSION_MS / 1000]))
    return kind != "slow" and dice.random() < _FOR_GOOD


async def _think(dice: random.Random, is_calm: Callable[[], bool]) -> None:
    """Sometimes the program takes longer than the group waits, between what it read and what it commits."""
    if not is_calm() and dice.random() < _THINKING:
        await asyncio.sleep(1.5 * SESSION_MS / 1000)


async def processing(
    member: Member,
    producer: Producer,
    outputs: list[TopicPartition],
    history: History,
    dice: random.Random,
    is_calm: Callable[[], bool],
    is_over: Callable[[], bool],
) -> None:
    """Consume, process, produce: one record out for each one in, in a transaction with the offsets."""
    await live_again(producer)
    while not is_over():
        await member.stay()
        polls = await member.poll(dice.choice([0, 100]))
        if polls:
            try:
                await _process(member, producer, outputs, polls, dice, is_calm)
            except (Fenced, Unusable) as error:
                await go_on(producer, error)
                member.go_back()
        await asyncio.sleep(dice.choice([0.05, 0.2, 0.4]))
        if not is_calm() and await _strays(member, dice):
            return
    history.settled.append(member.look_at_share())


async def _process(
    member: Member,
    producer: Producer,
    outputs: list[TopicPartition],
    polls: list[Poll],
    dice: random.Random,
    is_calm: Callable[[], bool],
) -> None:
    producer.begin()
    sources = [f"{poll.at[1]}:{offset}" for poll in polls for offset, _ in poll.records]
    if sources:
        await producer.send(dice.choice(outputs), len(sources), sources)
    for poll in polls:
        await producer.send_offset(member.group, poll.at, poll.next_offset, member.identity)
    await _think(dice, is_calm)
    if not is_calm() and dice.random() < 0.05:
        raise Fenced("left open")
    if is_calm() or dice.random() < 0.9:
        await producer.end(commit=True)
    else:
        await producer.end(commit=False)
        member.go_back()
