"""The programs of a page's section, run as they are written in this process, in the Spark session that is there.

A program's `getOrCreate()` finds that session. Words of the page stand for something of the test's: addresses, and the
directories /data and /checkpoints. Other blocks, of commands, are done in a shell. Each block has to be done.
"""

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

from tests.support.pages.blocks import blocks_of
from tests.support.processes.server import ROOT
from tests.support.waiting import PATIENCE_S

PAGE = ROOT / "docs" / "recipes.md"
_DIRECTORIES = ("/data/", "/checkpoints/")


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
            assert not self._left, (
                f"blocks of the page that did not run: {[self._blocks[at].line for at in self._left]}"
            )

    def do(self, number: int, instead: Mapping[str, str] | None = None) -> str:
        """The block of that number, from 1, to its end; the output of its commands. instead: replaced texts."""
        block = self._blocks[number - 1]
        if block.kind == "python":
            runpy.run_path(str(self.program(number, instead)), run_name="__main__")
            return ""
        text = self._taken(number, instead)
        return self._shell(text.removeprefix("$ ").partition("\n")[0] if block.kind == "console" else text)

    def program(self, number: int, instead: Mapping[str, str] | None = None) -> Path:
        """The block as a file, to be run."""
        program = self.directory / f"program_{number}.py"
        lines_before = "\n" * self._blocks[number - 1].line  # so that a traceback has the page's lines
        program.write_text(lines_before + self._taken(number, instead), encoding="utf-8")
        return program

    @contextmanager
    def doing(self, number: int, instead: Mapping[str, str] | None = None) -> Iterator[None]:
        """While a program runs that does not end by itself: its queries are stopped, after which it has to end well."""
        from pyspark.sql import SparkSession  # which the environment of other groups has not

        session = SparkSession.builder.getOrCreate()
        program = self.program(number, instead)
        failures: list[BaseException] = []

        def run() -> None:
            try:
                session.createDataFrame([], "nothing INT")  # as in docs/pipeline.md for threads
                runpy.run_path(str(program), run_name="__main__")
            except BaseException as error:  # raised where the test can see it
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

    def _taken(self, number: int, instead: Mapping[str, str] | None) -> str:
        if number - 1 in self._left:
            self._left.remove(number - 1)
        text = self._blocks[number - 1].text
        for word, other in (instead or {}).items():
            assert word in text, f"block {number} has no {word}"
            text = text.replace(word, other)
        for word, stands_for in self.stand_ins.items():
            text = re.sub(rf"(?<![\w/]){re.escape(word)}", stands_for, text)
        return text

    def _shell(self, text: str) -> str:
        path = os.pathsep.join((str(ROOT / ".venv" / "bin"), os.environ["PATH"]))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout
