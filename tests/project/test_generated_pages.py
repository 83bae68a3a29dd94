"""The generated pages of docs/ are those that their data make now: `python -m docs.generate` writes them."""

import pytest

from docs.generate.pages import DIFFERENCES, DOCS, PAGES
from tests.support.source_tree import PRODUCT, ROOT, imported_names, python_files

OF_THE_TREE = [name for name in PAGES if name != DIFFERENCES]
"""For the other a broker answers all recorded requests, as tests/probes/test_probe_book.py has it do in any case."""


@pytest.mark.parametrize("name", OF_THE_TREE)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == PAGES[name](written), f"docs/{name}: python -m docs.generate {name}"


def test_the_contributors_are_told_the_command() -> None:
    assert "`.venv/bin/python -m docs.generate`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_product_does_without_the_generators() -> None:
    """Wheels have only what is in `barnabas`, and what its links lead to."""
    assert [
        str(path)
        for path in python_files(*PRODUCT, "pyspark_barnabas", "pipeline")
        if any(name.split(".")[0] == "docs" for name in imported_names(path).values())
    ] == []
