"""The programs of a share group's members: they acknowledge in every way, are late, renew, leave, die and come back.

Some records are poison: the programs release them at each delivery, until the broker gives up. At the end all that is
left is accepted.
"""

import asyncio
import random
from collections.abc import Callable
from zlib import crc32

from tests.simulation.clients.members.share import SESSION_MS, QueueMember
from tests.simulation.clients.members.share_session import Chooses
from tests.simulation.clients.share_admin import ShareAdmin
from tests.simulation.history.history import History
from tests.simulation.history.shares import ACCEPT, REJECT, RELEASE, Delivery

_STRAY = 0.06  # how probable it is, each time, that a member leaves or dies
_POISON_EACH = 9  # one record of so many
_CLOSES, _DELETES = 0.5, 0.2
_CHECK_S = 0.2
_AFTER_LOCKS_S = 1.0
_PATIENCE_S = 60.0
_MANY = 500
_KINDS: tuple[list[int | None], ...] = (
    [ACCEPT],
    [ACCEPT, ACCEPT, ACCEPT, RELEASE, REJECT],
    [ACCEPT, ACCEPT, RELEASE, None],
    [RELEASE],
)
"""The types of acknowledgements from which each record gets one; None leaves it for the next time."""


class OpeningHours:
    """Whether the members of the group may work."""

    is_closed = False


async def sharing(
    member: QueueMember, hours: OpeningHours, lock_ms: int, dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """Poll, work and acknowledge, in one of several ways at a time."""
    way = dice.choice(["implicit", "explicit", "explicit"])
    while not is_over():
        if hours.is_closed:
            await member.leave(_choices(dice))
            await asyncio.sleep(_CHECK_S)
            continue
        await member.stay()
        wait_ms = dice.choice([0, 100, 500])
        if way == "implicit":
            await member.poll(wait_ms, _accepts)
        else:
            await member.poll(wait_ms)
            await _work(member, lock_ms, dice)
        await asyncio.sleep(dice.choice([0.02, 0.1, 0.3]))
        if dice.random() < _STRAY:
            await _stray(member, dice)
            way = dice.choice(["implicit", "explicit", "explicit"])


async def _work(member: QueueMember, lock_ms: int, dice: random.Random) -> None:
    """Acknowledge all or a part of what is held: soon, after a renewal, or when the locks are over."""
    speed = dice.choice(["soon", "soon", "soon", "renews", "late"])
    if not member.has_any:
        return
    if speed == "renews":
        await asyncio.sleep(dice.uniform(0.3, 0.9) * lock_ms / 1000)
        await member.renew()
        await asyncio.sleep(dice.uniform(0.2, 0.8) * lock_ms / 1000)
    elif speed == "late":
        await asyncio.sleep(dice.uniform(0.8, 1.5) * lock_ms / 1000)
    await member.acknowledge(_choices(dice))


async def _stray(member: QueueMember, dice: random.Random) -> None:
    if dice.random() < 0.5:
        await member.leave(_choices(dice))
    else:
        member.die()
    await asyncio.sleep(dice.choice([0.0, 0.5, 3.0]))


async def resetting(
    admin: ShareAdmin,
    history: History,
    partitions: int,
    hours: OpeningHours,
    dice: random.Random,
    is_over: Callable[[], bool],
) -> None:
    """Set offsets: sometimes in vain, as the group has members; sometimes when all were sent home."""
    while True:
        await asyncio.sleep(dice.choice([0.3, 1.0, 2.0]))
        hours.is_closed = not is_over() and dice.random() < _CLOSES
        if hours.is_closed:
            await asyncio.sleep(dice.choice([1.0, SESSION_MS / 1000 + 0.5]))
        if is_over():
            hours.is_closed = False
            return
        deliveries = history.shares.deliveries
        if not deliveries or dice.random() < _DELETES:
            await admin.delete(partitions)
        else:
            delivery = dice.choice(deliveries)
            await admin.alter(delivery.at, dice.choice([0, delivery.first, delivery.last + 1]))
        hours.is_closed = False


async def draining(member: QueueMember, lock_ms: int, now_s: Callable[[], float]) -> None:
    """Accept all that comes, until nothing has come for longer than a lock lasts; or for a minute, so that the rules
    say what still comes.
    """
    until_s = now_s() + _PATIENCE_S
    idle_from_s, member.records_max = now_s(), _MANY
    while now_s() < until_s and (not member.assigned or now_s() < idle_from_s + lock_ms / 1000 + _AFTER_LOCKS_S):
        await member.stay()
        await member.poll(100)
        if member.has_any:
            await member.acknowledge(_accepts_all)
            idle_from_s = now_s()
        else:
            await asyncio.sleep(_CHECK_S)


def _is_poison(value: bytes) -> bool:
    return crc32(value) % _POISON_EACH == 0


def _accepts(delivery: Delivery, value: bytes) -> int:
    return RELEASE if _is_poison(value) else ACCEPT


def _accepts_all(delivery: Delivery, value: bytes) -> int:
    return ACCEPT


def _choices(dice: random.Random) -> Chooses:
    """Mostly accept; a range of records may be left for the next time."""
    kinds = dice.choice(_KINDS)

    def choose(delivery: Delivery, value: bytes) -> int | None:
        return RELEASE if _is_poison(value) else dice.choice(kinds)

    return choose
