"""docs/faults.md lists every step at which something can be done, with what can be done there and its facts."""

from pathlib import Path

from barnabas.broker.control.faults.plan.of_points import FLAGS, NUMBERS, TEXTS, points

PAGE = Path(__file__).parents[4] / "docs" / "faults.md"


def test_every_point_has_its_row() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for kind in points().values():
        may = " or ".join(name for name, is_so in (("crash", kind.may_crash), ("pause", kind.may_pause)) if is_so)
        facts = ", ".join(f"`{fact}`" for fact in kind.facts)
        assert f"| `{kind.name}` | {may} | {kind.what} | {facts} |" in rows


def test_it_is_known_of_every_fact_what_it_may_be() -> None:
    told = {fact for kind in points().values() for fact in kind.facts}
    assert told == {*NUMBERS, *FLAGS, *TEXTS, "topic", "partition"}
