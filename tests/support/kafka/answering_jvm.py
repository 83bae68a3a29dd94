"""A JVM with a program of ours around Kafka's own classes, which answers the questions of tests line by line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.support.clients.java import program_command
from tests.support.processes.program import Program

_SOURCES = Path(__file__).parents[2] / "oracle"


class AnsweringJvm:
    """A context manager around the process of one source in tests/oracle."""

    def __init__(self, source: str, libs: Path | None = None) -> None:
        self._program = Program(program_command(_SOURCES / source, libs=libs))
        self._count = 0

    def _ask(self, question: Mapping[str, Any]) -> Any:
        self._count += 1
        self._program.tell(json.dumps({"number": self._count, **question}))
        prefix = f"{self._count} "
        return json.loads(self._program.line(prefix).removeprefix(prefix))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close()
