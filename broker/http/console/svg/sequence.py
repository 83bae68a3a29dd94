"""A transaction's commit as a sequence diagram: its messages, and each step at which a fault can be armed.

Pure. Time goes downwards. A step is a link to the form that arms a fault there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.http.console.rendering import url
from barnabas.broker.http.console.svg.steps import (
    COMMIT,
    FOR_EACH_PARTITION,
    LIFELINES,
    READERS,
    Lifeline,
    SequenceStep,
)
from barnabas.broker.runtime.events import EventKind

WIDTH = 1000
_TOP, _ROW, _MESSAGE_ROW, _BEFORE_MESSAGE, _BELOW = 62, 36, 32, 8, 10
_LABEL_AT_RIGHT, _LABEL_AT_LEFT = (16, "start"), (-16, "end")
_CHARACTERS_MAX = 44
_MARKS_MAX = 10
"""Maximum number of faults shown at one step; those that hold something up come first."""


class FaultMark(NamedTuple):
    """A fault that is armed at a step. does: crash, pause or error. standing: some of those that it holds up."""

    name: str
    does: str
    times: str
    fired: int
    standing: list[str]
    standing_count: int

    @property
    def description(self) -> str:
        """A description in words."""
        return f"{self.name}: {self.does}, fired {self.fired} of {self.times}"

    @property
    def who(self) -> str:
        """The transactions or requests held up there, in words; empty if there are none."""
        if not self.standing_count:
            return ""
        more = self.standing_count - len(self.standing)
        named = ", ".join(self.standing) + (f" and {more} more" if more else "")
        return f"{named} {'stands' if self.standing_count == 1 else 'stand'} here"


class StepView(NamedTuple):
    """A step as a page shows it. description: all of it in words, for screen readers."""

    point: str
    name: str
    state: str
    may: str
    what: str
    description: str
    href: str
    id: str
    style: str
    """The class of the armed faults: open for a pause, aborted for a crash or an error, empty if none is armed."""
    armed: str
    standing: str
    is_chosen: bool


class DrawnStep(NamedTuple):
    """A step on its lifeline. anchor: on which side of it the text is."""

    place: StepView
    x: int
    y: int
    label_x: int
    anchor: str


class DrawnSaid(NamedTuple):
    """An arrow with its text."""

    description: str
    x1: int
    x2: int
    y: int
    text_x: float
    head: str


class SequenceDrawing(NamedTuple):
    """The whole diagram. rows: messages and steps, in order of time. box: top and height of the repeated part."""

    height: int
    lifelines: Sequence[Lifeline]
    rows: list[DrawnStep | DrawnSaid]
    box: tuple[int, int]


def may_of(kind: EventKind) -> str:
    """Return the actions that are possible at a step, in words."""
    return " or ".join(kind.actions)


def place_of(kind: EventKind, state: str, marks: Sequence[FaultMark], *, is_chosen: bool) -> StepView:
    """Return a step, with the faults armed there. state: of its record; empty for steps without one."""
    shown = sorted(marks, key=lambda mark: not mark.standing_count)[:_MARKS_MAX]
    armed = _cut("; ".join(mark.description for mark in shown))
    standing = "; ".join(mark.who for mark in shown if mark.who)
    style = "" if not marks else "aborted" if any(mark.does != "pause" for mark in marks) else "open"
    name = kind.name + (f" of {state}" if state else "")
    sentences = [f"{name}: {kind.what}.", f"{may_of(kind).capitalize()}.", *(f"{mark.description}." for mark in shown)]
    if len(marks) > len(shown):
        sentences.append(f"{len(marks) - len(shown)} more are armed.")
    return StepView(
        kind.name,
        kind.name.partition(".")[2],
        state,
        may_of(kind),
        kind.what,
        " ".join([*sentences, *([f"{standing}."] if standing else [])]),
        url("/faults", point=kind.name, state=state) + "#arm",
        f"at-{kind.name}-{state}".rstrip("-"),
        style,
        armed,
        _cut(standing),
        is_chosen,
    )


def drawn(
    points: Mapping[str, EventKind], marks: Callable[[SequenceStep], Sequence[FaultMark]], chosen: tuple[str, str]
) -> SequenceDrawing:
    """Draw the sequence. marks: returns the faults armed at a step. chosen: point and state with the form open."""
    rows: list[DrawnStep | DrawnSaid] = []
    y, box_top, box_end = _TOP - _BEFORE_MESSAGE, _TOP, _TOP
    for each in COMMIT:
        if isinstance(each, SequenceStep):
            is_chosen = chosen in ((each.point, each.state), (each.point, ""))
            place = place_of(points[each.point], each.state, marks(each), is_chosen=is_chosen)
            x, (dx, anchor) = each.lifeline.x, _LABEL_AT_LEFT if each.lifeline is READERS else _LABEL_AT_RIGHT
            rows.append(DrawnStep(place, x, y, x + dx, anchor))
            if each.point == FOR_EACH_PARTITION[0]:
                box_top = y - _ROW // 2
            if each.point == FOR_EACH_PARTITION[-1]:
                box_end = y + _ROW // 2 + 6
            y += _ROW
        else:
            y += _BEFORE_MESSAGE
            x1, x2 = each.source.x, each.target.x
            head = f"M{x2} {y} l{-8 if x2 > x1 else 8} -4 v8 z"
            rows.append(DrawnSaid(each.description, x1, x2, y, (x1 + x2) / 2, head))
            y += _MESSAGE_ROW
    return SequenceDrawing(y + _BELOW, LIFELINES, rows, (box_top, box_end - box_top))


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS_MAX else text[: _CHARACTERS_MAX - 1] + "…"
