"""Which rule finds each planted bug first, and under which seed, as `scripts/simulate --planted all` has found it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_PLACE = Path(__file__).parent / "found.json"


class FirstFinding(NamedTuple):
    """What finds a planted bug first."""

    rule: str
    seed: int

    def __str__(self) -> str:
        return f"{self.rule}, seed {self.seed}"


def found() -> dict[str, FirstFinding]:
    """Return what is noted, by the bug's name, in the order in which the bugs were looked for."""
    noted = json.loads(_PLACE.read_text(encoding="utf-8"))
    return {name: FirstFinding(each["rule"], each["seed"]) for name, each in noted.items()}


def note(results: Mapping[str, FirstFinding]) -> None:
    """Write them in place of what was noted."""
    rows = [f"  {json.dumps(name)}: {json.dumps(each._asdict())}" for name, each in results.items()]
    _PLACE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
