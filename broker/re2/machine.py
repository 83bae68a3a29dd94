"""Matching in linear time: the pattern's tree becomes an automaton that is in many states at once. Pure.

Theory of operation (Thompson): a program of steps; a text is read once, and after each character the set of steps that
may come next is known. Sets that were met are kept with where each character led, so that most characters cost one
look-up. No pattern can make a text cost more than its length times the program's.

Invariants: the program has at most PROGRAM_MAX steps, the memory of sets at most SETS_MAX entries.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.re2.classes import WORD
from broker.re2.syntax import Assertion, Char, Choice, InvalidPattern, Node, Repeat, Sequence, parse

PROGRAM_MAX = 20_000
SETS_MAX = 10_000
_NOTHING = ""  # what stands before a text and behind it


class _Step(NamedTuple):
    """`node` holds and leads to `after`; without one it leads to all of `after` at once. Nowhere to go: a match."""

    node: Char | Assertion | None
    after: tuple[int, ...]


class Pattern:
    """A compiled pattern."""

    def __init__(self, text: str) -> None:
        """InvalidPattern if the text is no pattern, or one that is too large."""
        self.text = text
        self._steps: list[_Step] = [_Step(None, ())]
        self._start = self._compile(parse(text), 0)
        self._met: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole of `text`."""
        states = frozenset((self._start,))
        before = _NOTHING
        for char in text:
            key = states, _kind(before), char
            known = self._met.get(key)
            if known is None:
                if len(self._met) >= SETS_MAX:
                    self._met.clear()
                known = self._met[key] = self._after(states, before, char)
            if not known:
                return False
            states, before = known, char
        return 0 in self._reached(states, before, _NOTHING)

    def _after(self, states: frozenset[int], before: str, char: str) -> frozenset[int]:
        """Where a character leads from any of the states."""
        found: set[int] = set()
        for state in self._reached(states, before, char):
            node, after = self._steps[state]
            if isinstance(node, Char) and node.test(char):
                found.update(after)
        return frozenset(found)

    def _reached(self, states: frozenset[int], before: str, char: str) -> set[int]:
        """Every step that can be reached between two characters without reading one."""
        reached: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in reached:
                continue
            reached.add(state)
            node, after = self._steps[state]
            if node is None or (isinstance(node, Assertion) and _holds(node.kind, before, char)):
                waiting += after
        return reached

    # --- compiling, from the end to the beginning ---

    def _compile(self, node: Node, after: int) -> int:
        """The step that begins `node` and leads to `after`."""
        match node:
            case Char() | Assertion():
                return self._add(_Step(node, (after,)))
            case Sequence(parts):
                for part in reversed(parts):
                    after = self._compile(part, after)
                return after
            case Choice(parts):
                return self._add(_Step(None, tuple(self._compile(part, after) for part in parts)))
            case Repeat():
                return self._compile_repeat(node, after)

    def _compile_repeat(self, node: Repeat, after: int) -> int:
        part, low, high, _ = node
        if high is None:
            loop = self._add(_Step(None, ()))
            self._steps[loop] = _Step(None, (self._compile(part, loop), after))
            after = loop
        else:
            end = after
            for _ in range(high - low):
                after = self._add(_Step(None, (self._compile(part, after), end)))
        for _ in range(low):
            after = self._compile(part, after)
        return after

    def _add(self, step: _Step) -> int:
        if len(self._steps) >= PROGRAM_MAX:
            raise InvalidPattern("the pattern is too large")
        self._steps.append(step)
        return len(self._steps) - 1


def compile_pattern(text: str) -> Pattern:
    """The pattern in `text`; InvalidPattern if it is none."""
    return Pattern(text)


def _kind(char: str) -> str:
    """What the character before a place means for assertions: nothing, a line feed, a word, or something else."""
    return char if char in ("", "\n") else "w" if char in WORD else "."


def _holds(kind: str, before: str, char: str) -> bool:
    if kind == "text-start":
        return before == _NOTHING
    if kind == "text-end":
        return char == _NOTHING
    if kind == "line-start":
        return before in (_NOTHING, "\n")
    if kind == "line-end":
        return char in (_NOTHING, "\n")
    return (before in WORD) is not (char in WORD) if kind == "boundary" else (before in WORD) is (char in WORD)
