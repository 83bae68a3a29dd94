"""Where a decision is by its number: a page of its own, or the place that docs/decisions/README.md names."""

import re

from tests.support.source_tree import ROOT

DECISIONS = ROOT / "docs" / "decisions"
_FOLDED = re.compile(r"^\| (\d{4}) \| .* \| .*?\[.*?\]\((\S+?)\).* \|$", re.MULTILINE)


def place(number: str) -> str:
    """Return the link from a page in docs/. LookupError if no decision has ever had this number."""
    for path in DECISIONS.glob(f"{number}-*.md"):
        return f"decisions/{path.name}"
    link = folded()[number]
    return link.removeprefix("../") if link.startswith("../") else f"decisions/{link}"


def folded() -> dict[str, str]:
    """Return the first link in each row of the index's table of folded decisions, by number."""
    return dict(_FOLDED.findall((DECISIONS / "README.md").read_text(encoding="utf-8")))
