"""docs/trace.md lists the kinds of events as the table has them."""

import sys

from barnabas.broker.runtime.events import KINDS
from tests.support.source_tree import ROOT


def rows() -> list[str]:
    found = []
    for kind in KINDS.values():
        steps = ", ".join(["crash"] * kind.may_crash + ["pause"] * kind.may_pause)
        facts = ", ".join(f"`{fact}`" for fact in kind.facts)
        found.append(f"| `{kind.name}` | {kind.what} | {facts} | {steps} |")
    return found


def test_every_kind_is_in_the_documentation_in_the_order_of_the_table() -> None:
    """`python -m tests.broker.runtime.events.test_documented` prints the rows."""
    text = (ROOT / "docs" / "trace.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("| `") and line.count(" | ") == 3] == rows()


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows()) + "\n")
