"""docs/planted-bugs.md: the bugs of tests/simulation/planted, and by which rule and under which seed each is found."""

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.found import found

_HEAD = """\
# Planted bugs

What is changed in the broker, or in the Spark sink, and by which rule and under which seed
[the simulation](testing-barnabas.md) finds it first, of the seeds from 1 on that have what the bug needs. {count} of
{all} bugs are found; [the others](testing-barnabas.md#planted-bugs) are missed.

`./scripts/simulate --planted all` looks for each of them anew, which takes a while;
`./scripts/simulate --planted "the window forgotten" --seeds 5` shows one of them. CI plants five each day, of those
that are found within 100 seeds.

| bug | what is wrong then | found by, under seed | within |
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
