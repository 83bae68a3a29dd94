"""docs/planted-bugs.md: the bugs of tests/simulation/planted, and by which rule and under which seed each is found."""

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.found import found

_HEAD = """\
# Planted bugs

Each row is a bug that is planted in the broker or in the Spark sink. [The simulation](testing-barnabas.md) searches for
it with the seeds from 1 on that have the features that the bug needs. The table has the rule and the seed that find it
first. {count} of {all} bugs are found; [the others](testing-barnabas.md#planted-bugs) are missed.

`./scripts/simulate --planted all` searches for all bugs again, which takes long. This command shows one of them:

    ./scripts/simulate --planted "duplicate batch not recognised" --seeds 5

CI plants five bugs each day, of those that are found within 100 seeds.

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
