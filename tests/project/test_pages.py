"""What is fenced in the pages that are run: each block is of a kind that is done, or says what it needs."""

from pathlib import Path

import pytest

from tests.support.pages.blocks import FILES, Block, Unclear, blocks_of
from tests.support.source_tree import ROOT

DOORS = [ROOT / "docs" / "doors" / f"{name}.md" for name in ("pytest", "unittest", "compose", "spark")]
PAGES = [*sorted((ROOT / "docs" / "security").glob("*.md")), ROOT / "docs" / "recipes.md", *DOORS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_that_is_run_is_clear(page: Path) -> None:
    blocks = blocks_of(page)
    assert any(block.needs in (None, "spark") for block in blocks)
    assert all(block.file_name for block in blocks if block.kind in FILES)


def test_blocks_have_their_section_and_their_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```sh\ntrue\n```\n\n## More\n\n```sh needs=docker\ndocker ps\n```\n")
    assert blocks_of(page) == [Block("sh", "true\n", 3, "A page"), Block("sh", "docker ps\n", 9, "More", "docker")]


@pytest.mark.parametrize(
    "text",
    [
        "```\nls\n```\n",
        "```ruby\nputs\n```\n",
        "```sh needs=luck\nls\n```\n",
        "    ls\n",
        "```sh later\nls\n```\n",
        "```sh\nls\n",
    ],
)
def test_what_nobody_knows_what_to_do_with_is_unclear(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(Unclear):
        blocks_of(page)


def test_a_file_without_a_name_is_unclear() -> None:
    with pytest.raises(Unclear, match="line 7: the first line of a file has its name"):
        assert Block("properties", "a=b\n", 7).file_name
