"""A compiled regular expression: whether a whole name matches, in time that grows with the name and not beyond.

The tree becomes a program of at most INSTRUCTIONS_MAX steps; a name is run through all ways of the program at once, as
RE2 does. Which ways are open after a character is remembered, so that most names cost a look-up for each character.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import lru_cache
from typing import NamedTuple

from barnabas.broker.coordinator.group.consumer.re2.alphabet import WORD
from barnabas.broker.coordinator.group.consumer.re2.parser import (
    UNLIMITED,
    At,
    Choice,
    Node,
    RegexError,
    Repeat,
    Sequence,
    parse,
)

__all__ = ["Pattern", "RegexError", "compile_pattern"]

INSTRUCTIONS_MAX = 2_000
"""Of a program; RE2/J has no such limit."""
_REMEMBERED_MAX = 2_000
_PLACES_MAX = 20_000  # of all that is remembered of a pattern together: one or two megabytes
_COMPILED_MAX = 32
_BOUNDARY = {At.WORD_BOUNDARY: True, At.NO_WORD_BOUNDARY: False}


class _Take(NamedTuple):
    """One of these characters; then go on."""

    characters: frozenset[str]


class _Fork(NamedTuple):
    """Go on at all of these."""

    ways: tuple[int, ...]


class _Check(NamedTuple):
    """Go on here only."""

    at: At


_MATCHED = -1


class _State(NamedTuple):
    """Where the program is before a character, and whether the last one was of a word; None: there was none."""

    places: frozenset[int]
    is_after_word: bool | None


class Pattern:
    """A regular expression that names are matched with."""

    def __init__(self, expression: str) -> None:
        """Raises RegexError."""
        self._program: list[_Take | _Fork | _Check] = []
        self._budget = INSTRUCTIONS_MAX * 4
        self._begin = self._compile(parse(expression), _MATCHED)
        self._next: dict[tuple[_State, str], _State] = {}
        self._places = 0  # in the states of `_next`

    def matching(self, name: str) -> Generator[None, None, bool]:
        """Whether all of the name matches, found in steps: the longest are those of a new state."""
        state = _State(frozenset((self._begin,)), None)
        for character in name:
            following = self._next.get((state, character))
            if following is None:
                following = self._remember(state, character)
                yield
            state = following
            if not state.places:
                return False
        return _MATCHED in self._open(state, None)

    def _remember(self, state: _State, character: str) -> _State:
        if len(self._next) >= _REMEMBERED_MAX or self._places >= _PLACES_MAX:
            self._next.clear()
            self._places = 0
        places = frozenset(
            place + 1 for place in self._open(state, character) if place != _MATCHED and self._takes(place, character)
        )
        following = self._next[state, character] = _State(places, character in WORD)
        self._places += len(places)
        return following

    def _takes(self, place: int, character: str) -> bool:
        instruction = self._program[place]
        return isinstance(instruction, _Take) and character in instruction.characters

    def _open(self, state: _State, character: str | None) -> set[int]:
        """Everywhere the program may be before this character, or at the end."""
        reached: set[int] = set()
        todo = list(state.places)
        while todo:
            place = todo.pop()
            if place in reached:
                continue
            reached.add(place)
            if place == _MATCHED:
                continue
            instruction = self._program[place]
            if isinstance(instruction, _Fork):
                todo += instruction.ways
            elif isinstance(instruction, _Check) and _holds(instruction.at, state, character):
                todo.append(place + 1)
        return reached

    # Compiling, from the end to the beginning: each part is given where to go on after it

    def _compile(self, node: Node, after: int) -> int:
        """Where the program of a node begins."""
        self._budget -= 1
        if self._budget < 0 or len(self._program) > INSTRUCTIONS_MAX:
            raise RegexError("expression is too large")
        if isinstance(node, frozenset):
            return self._add(_Take(node), after)
        if isinstance(node, At):
            return self._add(_Check(node), after)
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                after = self._compile(part, after)
            return after
        if isinstance(node, Choice):
            return self._fork([self._compile(part, after) for part in node.parts])
        return self._repeat(node, after)

    def _repeat(self, node: Repeat, after: int) -> int:
        if node.most == UNLIMITED:
            loop = self._fork(())
            body = self._compile(node.part, loop)
            self._program[loop] = _Fork((body, after))
            after = loop
        else:
            done = after
            for _ in range(node.most - node.least):
                after = self._fork((self._compile(node.part, after), done))
        for _ in range(node.least):
            after = self._compile(node.part, after)
        return after

    def _add(self, instruction: _Take | _Check, after: int) -> int:
        self._program += (instruction, _Fork((after,)))
        return len(self._program) - 2

    def _fork(self, ways: Iterable[int]) -> int:
        self._program.append(_Fork(tuple(ways)))
        return len(self._program) - 1


def _holds(at: At, state: _State, character: str | None) -> bool:
    if at is At.BEGIN:
        return state.is_after_word is None
    if at is At.END:
        return character is None
    is_boundary = bool(state.is_after_word) != (character is not None and character in WORD)
    return is_boundary is _BOUNDARY[at]


@lru_cache(maxsize=_COMPILED_MAX)
def compile_pattern(expression: str) -> Pattern:
    """The compiled expression; the last ones are kept. Raises RegexError."""
    return Pattern(expression)
