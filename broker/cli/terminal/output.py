"""How the commands print: tables for people, JSON for programs, progress on stderr while they run."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

_PROGRESS_S = 0.5


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns as wide as necessary; the last one is not padded."""
    lines = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def counted(count: int, noun: str) -> str:
    """Return `1 partition`, `2 partitions`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def print_json(value: Any) -> None:
    """Print one JSON document."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False))


def report(options: argparse.Namespace, facts: dict[str, Any], sentence: str) -> None:
    """Print a result: a sentence, or with --json the facts, one object per action."""
    if options.json:
        import json

        print(json.dumps(facts))
    else:
        print(sentence)


class ProgressCounter:
    """A counter on stderr that is rewritten in place, at most twice a second, and only on a terminal."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._is_shown = sys.stderr.isatty()
        self._next_at = time.monotonic() + _PROGRESS_S
        self._has_printed = False

    def update(self, count: int) -> None:
        """Show the count if it is time."""
        if self._is_shown and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + _PROGRESS_S
            self._has_printed = True
            print(f"\r{count:,} {self._noun}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Clear the line for later output."""
        if self._has_printed:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
