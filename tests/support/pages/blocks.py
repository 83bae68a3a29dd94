"""The blocks of a page of documentation. The word after a fence is the kind of the block.

sh          commands, each of which succeeds
console     commands after `$ `, each with what it prints; `…` stands for any text
python      a program that ends well; a file, if its first line has a name as below
properties, text, yaml   a file; its first line has its name in a comment: `# server.properties`
output      lines that the program above it has printed, among others; `…` stands for any text
log         lines that the broker has printed; `…` stands for any text

`needs=WORD` after it means that the block does not run here, and what it would need, one of `NEEDS`. There is no other
way for a block not to be done: whatever is of no kind, or is indented instead of fenced, is `Unclear`.
"""

import re
from pathlib import Path
from typing import NamedTuple

FILES = frozenset({"properties", "text", "yaml"})
KINDS = FILES | {"sh", "console", "python", "output", "log"}
NEEDS = frozenset({"cloud", "docker", "network", "spark"})
_FENCE = re.compile(r"```(\S*)(?: needs=(\S+))?")
_NAME = re.compile(r"(?:#|//) ([\w.-]+\.\w+)")


class Unclear(Exception):
    """The page does not define what to do with a block."""


class Block(NamedTuple):
    """One of them."""

    kind: str
    text: str
    """Its lines, each with its end."""
    line: int
    """Of the page, from 1."""
    section: str = ""
    """The heading above it."""
    needs: str | None = None

    @property
    def is_file(self) -> bool:
        return self.kind in FILES or (self.kind == "python" and self._named is not None)

    @property
    def _named(self) -> re.Match[str] | None:
        return _NAME.fullmatch(self.text.partition("\n")[0])

    @property
    def file_name(self) -> str:
        """Of a file. Unclear."""
        if self._named is None:
            raise Unclear(f"line {self.line}: the first line of a file has its name: # server.properties")
        return self._named[1]


def blocks_of(page: Path) -> list[Block]:
    """Those of a page, in its order. Unclear."""
    found: list[Block] = []
    opened: Block | None = None
    section = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if opened is not None:
            if line == "```":
                found.append(_checked(opened))
                opened = None
            else:
                opened = opened._replace(text=f"{opened.text}{line}\n")
        elif (fence := _FENCE.fullmatch(line)) is not None:
            opened = Block(fence[1], "", number, section, fence[2])
        elif line.startswith(("```", "    ")):
            raise Unclear(f"{page.name}:{number}: write a block between fences, with its kind: {line}")
        elif line.startswith("#"):
            section = line.lstrip("# ")
    if opened is not None:
        raise Unclear(f"{page.name}:{opened.line}: the block has no end")
    return found


def _checked(block: Block) -> Block:
    if block.kind not in KINDS:
        raise Unclear(f"line {block.line}: {block.kind or 'a block without a kind'} is none of {', '.join(KINDS)}")
    if block.needs is not None and block.needs not in NEEDS:
        raise Unclear(f"line {block.line}: needs={block.needs} is none of {', '.join(NEEDS)}")
    return block
