"""One script, and every single moment at which it can go wrong: each change of the disk with the power cut before it,
each call failing once.
"""

import errno

import pytest

from barnabas.storage.config import LogConfig
from tests.support.stories.crash import CrashStory

SCRIPT = (
    *["append"] * 4,
    "flush",
    "checkpoint",
    "mark",
    *["append"] * 5,
    "retry",
    "flush",
    "delete",
    "append",
    "stop",
    "append",
    "mark",
    "checkpoint",
    *["append"] * 3,
    "flush",
    "append",
    "stop",
    "append",
)
SEEDS = (3, 4)


def story(seed: int) -> CrashStory:
    told = CrashStory(seed, LogConfig(segment_bytes=500, index_interval_bytes=0, file_delete_delay_ms=0))
    told.interrupts_recovery = False
    return told


def changes_and_calls(seed: int) -> tuple[int, int]:
    """How many there are when nothing goes wrong."""
    told = story(seed)
    told.follow(SCRIPT)
    return told.world.files.changes_made, len(told.world.files.calls)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("how", ["kill", "cut"])
def test_the_power_may_be_cut_before_any_change(seed: int, how: str) -> None:
    for change in range(changes_and_calls(seed)[0]):
        told = story(seed)
        told.crash_as = how
        told.world.files.cut_power_at(max(change, told.world.files.changes_made))
        told.follow(SCRIPT)


@pytest.mark.parametrize("seed", SEEDS[:1])
@pytest.mark.parametrize(
    "error", [pytest.param(errno.ENOSPC, marks=pytest.mark.both_forms), errno.EIO], ids=["ENOSPC", "EIO"]
)
def test_any_call_may_fail_once(seed: int, error: int) -> None:
    for call in range(changes_and_calls(seed)[1]):
        told = story(seed)
        told.world.files.fail("any", error, skip=call, times=1)
        told.follow(SCRIPT)
        told.world.files.heal()
        told.follow(["append", "stop", "append"])
