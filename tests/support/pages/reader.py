"""A reader who follows a page, block after block, in an empty directory, with its own ports.

The page's broker is what its last `barnabas serve` or `docker compose up` started; the next one stops it first.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.pages.blocks import Block
from tests.support.pages.compose import image_command
from tests.support.pages.kafka_tools import Run, kafka_tools
from tests.support.ports import unused_port
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import ROOT
from tests.support.waiting import until

PORTS = ("8081", "9092", "9093", "9094", "9404")
_ANY = "…"
_TIMEOUT_S = 90
_LOG_TIMEOUT_S = 10


class PageBroker(BrokerProcess):
    """A broker that a line of a page starts."""

    def __init__(self, directory: Path, words: Sequence[str], environment: Mapping[str, str]) -> None:
        super().__init__(directory)
        self._words = words
        self._environment = environment

    def command(self) -> list[str]:
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        return ["env", f"--chdir={self.data_dir}", *variables, *self._words]

    @property
    def output(self) -> str:
        """On stdout and stderr."""
        return (self._stdout.text() if self._stdout else "") + "\n" + self.log

    def has_printed(self, pattern: str) -> bool:
        return re.search(pattern, self.output) is not None


class Reader:
    """`tools` runs Kafka's own tools; `replaced` are words of the page that stand for something of the test's."""

    def __init__(self, directory: Path, tools: Run, replaced: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.broker: PageBroker | None = None
        self._stack = ExitStack()
        self._printed = ""
        self._tools = tools
        self._replaced = dict(replaced or {}) | {port: str(unused_port()) for port in PORTS}
        programs = (directory / ".bin", ROOT / ".venv" / "bin", Path(sys.executable).parent)
        self._path = os.pathsep.join((*map(str, programs), os.environ["PATH"]))

    def __enter__(self) -> Self:
        self._stack.enter_context(kafka_tools(self.directory / ".bin", self._tools))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.broker is not None and kind is not None:
            self.broker.kill()
        elif self.broker is not None:
            self._stop()
        self._stack.close()

    def port(self, written: str) -> int:
        """Which one stands for a port of the page."""
        return int(self._replaced[written])

    def do(self, block: Block) -> None:
        """What the block says. AssertionError where something else happens than it says."""
        text = block.text
        for word, stands_for in self._replaced.items():
            text = re.sub(rf"\b{re.escape(word)}\b", stands_for, text)
        if block.is_file:
            (self.directory / block.file_name).write_text(text, encoding="utf-8")
        elif block.kind == "console":
            self._look(text)
        elif block.kind == "output":
            assert re.search(_pattern(text.rstrip()), self._printed), f"{self._printed}\n--- instead of\n{text}"
        elif block.kind == "log":
            self._find(text)
        elif block.kind == "python":
            self._run([sys.executable, "-c", text], text)
        elif re.search(r"^([A-Z_]+=\S+ )*barnabas serve\b", text, re.MULTILINE):
            self._serve(["bash", "-c", f"exec env {text}"], {"PATH": self._path})
        elif text.startswith("docker compose up"):
            compose = (self.directory / "compose.yaml").read_text(encoding="utf-8")
            words, variables = image_command(self.directory, compose)
            self._serve(words, {"PATH": self._path, **variables})
        else:
            self._run(["bash", "-euo", "pipefail", "-c", text], text)

    def _serve(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        if self.broker is not None:
            self._stop()
        self.broker = PageBroker(self.directory, words, environment)
        self.broker.start()

    def _stop(self) -> None:
        assert self.broker is not None
        broker, self.broker = self.broker, None
        assert broker.stop() == 0, broker.output

    def _run(self, words: Sequence[str], shown: str) -> None:
        done = self._done(words)
        assert done.returncode == 0, f"{shown}\nended with {done.returncode}:\n{done.stdout}\n{self._log()}"
        self._printed = done.stdout

    def _look(self, text: str) -> None:
        """Each command with what it prints, however it ends."""
        for command, _, expected in (each.partition("\n") for each in re.split(r"(?m)^\$ ", text)[1:]):
            while command.endswith("\\"):
                line, _, expected = expected.partition("\n")
                command = f"{command}\n{line}"
            printed = self._done(["bash", "-c", command]).stdout
            assert _matches(expected, printed), f"$ {command}\n{printed}\n--- instead of\n{expected}\n{self._log()}"

    def _find(self, text: str) -> None:
        """Each line, once the broker has printed it."""
        assert self.broker is not None, "there is no broker"
        for line in text.splitlines():
            until(partial(self.broker.has_printed, _pattern(line)), _LOG_TIMEOUT_S)

    def _done(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": self._path}
        return subprocess.run(
            words,
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )

    def _log(self) -> str:
        return "" if self.broker is None else f"The broker printed:\n{self.broker.output}"


def _matches(expected: str, printed: str) -> bool:
    return re.fullmatch(_pattern(expected.rstrip()), printed.rstrip(), re.DOTALL) is not None


def _pattern(text: str) -> str:
    return ".*".join(map(re.escape, text.split(_ANY)))
