"""docs/planted-bugs.md: the bugs of tests/simulation/planted, and by which rule and under which seed each is found."""

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.found import found

_HEAD = """\
# Planted bugs

Each row is a bug that is planted in the broker or in the Spark sink, with the rule and the seed with which [the
simulation](testing-barnabas.md) finds it first, of the seeds from 1 on that have the features that it needs. {count} of
{all} bugs are found; [the others](testing-barnabas.md#planted-bugs) are missed.

`./scripts/simulate --planted all` searches for all of them again, which takes a while;
`./scripts/simulate --planted "the window forgotten" --seeds 5` shows one of them. CI plants five each day, of those
that are found within 100 seeds.

| bug | effect | found by, under seed | within |
|---|---|---|--:|
"""


def page() -> str:
    """Return the whole page."""
    results = found()
    rows = [
        f"| {name} | {BUGS[name].says} | `{result.rule}`, {result.seed} | {BUGS[name].seeds} |"
        for name, result in results.items()
    ]
    return _HEAD.format(count=len(rows), all=len(BUGS)) + "\n".join(rows) + "\n"
