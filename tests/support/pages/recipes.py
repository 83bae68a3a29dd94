"""The programs of a page's section, run as they are written in this process, in the Spark session that is there.

A program's `getOrCreate()` finds that session. Words of the page stand for something of the test's: addresses, and the
directories /data and /checkpoints. Other blocks, of commands, are done in a shell. Each block has to be done.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from tests.support.pages.blocks import Block, blocks_of
from tests.support.processes.server import ROOT

PAGE = ROOT / "docs" / "recipes.md"
_DIRECTORIES = ("/data/", "/checkpoints/")
_TIMEOUT_S = 120


def sections() -> list[str]:
    """The headings of the recipes, in the page's order."""
    return list(dict.fromkeys(block.section for block in blocks_of(PAGE)))


class Recipe:
    """One section. `stand_ins`: words of the page, and what stands for them."""

    def __init__(self, section: str, directory: Path, stand_ins: Mapping[str, str]) -> None:
        self.directory = directory
        self.checkpoints = directory / "checkpoints"
        self._blocks = [block for block in blocks_of(PAGE) if block.section == section]
        self._left = list(range(len(self._blocks)))
        self.stand_ins = {**stand_ins, **{word: f"{directory}{word}" for word in _DIRECTORIES}}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            assert not self._left, f"blocks of the page that nobody did: {[self._blocks[at].line for at in self._left]}"

    def do(self, number: int, instead: Mapping[str, str] | None = None) -> str:
        """The block of that number, from 1, to its end; what its commands printed. instead: what is not as written."""
        block = self._taken(number)
        text = self._text(block, instead)
        if block.kind == "python":
            self._run(block, text)
            return ""
        return self._shell(text.removeprefix("$ ").partition("\n")[0] if block.kind == "console" else text)

    @contextmanager
    def doing(self, number: int, instead: Mapping[str, str] | None = None) -> Iterator[None]:
        """While a program runs that does not end by itself: its queries are stopped, after which it has to end well."""
        block = self._taken(number)
        text = self._text(block, instead)
        session = SparkSession.builder.getOrCreate()
        failures: list[BaseException] = []

        def run() -> None:
            try:
                session._jvm.SparkSession.setActiveSession(session._jsparkSession)  # as in a program's own thread
                self._run(block, text)
            except BaseException as error:  # told where the test can see it
                failures.append(error)

        thread = Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            while thread.is_alive():
                for query in session.streams.active:  # another may follow it
                    query.stop()
                thread.join(0.2)
            if failures:
                raise failures[0]

    def _taken(self, number: int) -> Block:
        if number - 1 in self._left:
            self._left.remove(number - 1)
        return self._blocks[number - 1]

    def _text(self, block: Block, instead: Mapping[str, str] | None) -> str:
        text = block.text
        for word, other in (instead or {}).items():
            assert word in text, f"line {block.line} has no {word}"
            text = text.replace(word, other)
        for word, stands_for in self.stand_ins.items():
            text = re.sub(rf"(?<![\w/]){re.escape(word)}", stands_for, text)
        return text

    def _run(self, block: Block, text: str) -> None:
        program = self.directory / f"line_{block.line}.py"
        program.write_text("\n" * block.line + text, encoding="utf-8")  # so that a traceback has the page's lines
        runpy.run_path(str(program), run_name="__main__")

    def _shell(self, text: str) -> str:
        path = os.pathsep.join((str(ROOT / ".venv" / "bin"), os.environ["PATH"]))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout
