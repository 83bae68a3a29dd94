"""The world stops before any change of the disk while a script of transactions is followed.

Commit, abort, timeout, a second life and offsets, in both protocols of KIP-890: with everything kept that was written,
as a kill leaves it, and with everything lost that was not synced, where every write is synced before its answer.
"""

from collections.abc import Iterator
from random import Random

import pytest

from tests.simulation.plans.plan import Plan
from tests.simulation.plans.walk import walk
from tests.simulation.running.many import run_plans
from tests.simulation.running.run import simulate
from tests.support.files.memory_files import Survival

STRIDE = 4
AGAIN_IN_CI = 10
every_way = pytest.mark.parametrize(
    ("protocol", "survival"), [(protocol, survival) for protocol in (1, 2) for survival in ("everything", "nothing")]
)


def changes_of(protocol: int, survival: Survival) -> range:
    """Of the disk, when nothing goes wrong."""
    result = simulate(0, walk(protocol, survival))
    assert not result.findings
    return range(result.changes)


def findings(plans: list[Plan]) -> Iterator[str]:
    for plan, result in zip(plans, run_plans(plans), strict=True):
        name = f"{plan.protocol}/{plan.machine.survival}"
        cuts = "/".join(map(str, plan.cuts))
        if result.findings:
            yield f"{result.findings[0]}\n  scripts/simulate --seed 0 --walk {name} --with cuts={cuts}"
        elif not 1 <= result.deaths <= len(plan.cuts):
            yield f"{result.deaths} deaths: --walk {name} --with cuts={cuts}"


def test_the_script_has_transactions_of_every_fate() -> None:
    transactions = simulate(0, walk(2, "everything")).history.transactions
    assert [each.is_commit for each in transactions] == [True, False, None, True, None, True]
    assert [each.is_committed for each in transactions] == [True, False, False, True, False, True]


@every_way
def test_the_world_may_stop_at_any_change(protocol: int, survival: Survival, seed: int) -> None:
    """At every fourth, and at the others on other days."""
    cuts = changes_of(protocol, survival)[seed % STRIDE :: STRIDE]
    found = list(findings([walk(protocol, survival, cut) for cut in cuts]))
    assert not found, "\n".join(found)


@every_way
def test_and_again_while_it_recovers(protocol: int, survival: Survival, seed: int) -> None:
    dice, changes = Random(seed), changes_of(protocol, survival)
    lives = [(dice.choice(changes), *(dice.randrange(1, 40) for _ in range(3))) for _ in range(AGAIN_IN_CI)]
    found = list(findings([walk(protocol, survival, *cuts) for cuts in lives]))
    assert not found, "\n".join(found)


@pytest.mark.long
@every_way
def test_the_world_may_stop_at_every_change(protocol: int, survival: Survival, seed: int) -> None:
    dice = Random(seed)
    plans = []
    for cut in changes_of(protocol, survival):
        plans.append(walk(protocol, survival, cut))
        plans += [walk(protocol, survival, cut, *(dice.randrange(1, 60) for _ in range(4))) for _ in range(3)]
    found = list(findings(plans))
    assert not found, "\n".join(found)
