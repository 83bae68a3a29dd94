"""A log's strip for drawing: the positions of cells and marks, and the views that can be reached from it. Pure."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from barnabas.broker.http.console.queries.partition import Strip
from barnabas.broker.http.console.rendering import url
from barnabas.storage.log.log_cells import (
    ABORT_MARKER,
    ABORTED,
    COMMIT_MARKER,
    COMMITTED,
    CONTROL,
    OPEN,
    PLAIN,
    Cell,
)

WIDTH = 1000.0
_CELL_WIDTH_MIN = 1.2
_GAP = 0.6
_HEIGHT, _ROW_HEIGHT, _GROUP_ROWS = 134, 17, 4
CELL_Y, CELL_HEIGHT = 62, 60
_STYLES = (OPEN, ABORTED, COMMITTED, PLAIN, "marker")
_MARKERS = (COMMIT_MARKER, ABORT_MARKER, CONTROL)


class CellPart(NamedTuple):
    """A colour of a cell, and the part of its height."""

    style: str
    y: float
    height: float


class DrawnCell(NamedTuple):
    """A cell: its position, colours and text, and the page with its details."""

    x: float
    width: float
    parts: list[CellPart]
    description: str
    href: str
    is_chosen: bool


class DrawnMark(NamedTuple):
    """A line at an offset. row: labels in the same row do not overlap."""

    x: float
    style: str
    label: str
    anchor: str
    row: int


class Way(NamedTuple):
    """Another view, by a link or a key."""

    name: str
    key: str
    href: str


class StripDrawing(NamedTuple):
    """The whole drawing."""

    height: int
    cells: list[DrawnCell]
    marks: list[DrawnMark]
    borders: list[float]
    groups: list[DrawnMark]
    ways: list[Way]


def drawn(strip: Strip, path: str, chosen: int | None) -> StripDrawing:
    """Draw the strip, on the page at `path`. chosen: the offset whose batch is shown."""
    marks = [
        (strip.log_start_offset, "start", "log start"),
        (strip.last_stable_offset, "stable", "last stable offset"),
        (strip.high_watermark, "high", "high watermark"),
    ]
    groups = [each for each in strip.groups if strip.first <= each.offset <= strip.end]
    rows = min(len(groups), _GROUP_ROWS)
    return StripDrawing(
        _HEIGHT + (_ROW_HEIGHT * rows + 2 if rows else 0),
        [_cell(strip, cell, path, chosen) for cell in strip.cells],
        [
            _mark(strip, offset, style, f"{name} {offset}", row)
            for row, (offset, style, name) in enumerate(marks)
            if strip.first <= offset <= strip.end
        ],
        [_x(strip, offset) for offset in strip.borders],
        [
            _mark(strip, group.offset, "group", f"{group.group_id} {group.offset}", number % _GROUP_ROWS)
            for number, group in enumerate(groups)
        ],
        _ways(strip, path),
    )


def style_of(kind: str) -> str:
    """Return the class of a kind of batch."""
    return "marker" if kind in _MARKERS else kind


def _x(strip: Strip, offset: int) -> float:
    return round(WIDTH * (offset - strip.first) / (strip.end - strip.first), 2)


def _cell(strip: Strip, cell: Cell, path: str, chosen: int | None) -> DrawnCell:
    x = _x(strip, cell.first_offset)
    width = max(_CELL_WIDTH_MIN, _x(strip, cell.next_offset) - x - _GAP)
    header = cell.header
    which = f"{cell.kind}, offsets {header.base_offset} to {header.last_offset}"
    shares = _shares(cell)
    description = which
    if not cell.is_whole:
        about = ", ".join(f"{round(100 * share)} % {style}" for style, share in shares)
        description = (
            f"offsets {cell.first_offset} to {cell.next_offset - 1}, about {about}; one batch of them: {which}"
        )
    if header.has_producer_id:
        description += f", producer {header.producer_id}, epoch {header.producer_epoch}"
        description += f", sequence {header.base_sequence}" if header.base_sequence >= 0 else ""
    href = url(path, from_=strip.first, to=strip.end, at=header.base_offset)
    is_chosen = chosen is not None and header.base_offset <= chosen <= header.last_offset
    return DrawnCell(x, round(width, 2), _stacked(shares), description, href, is_chosen)


def _shares(cell: Cell) -> list[tuple[str, float]]:
    """Return the styles of a cell, in one order for all cells, and the share of each."""
    kinds = cell.kinds or (cell.kind,)
    counts = Counter(map(style_of, kinds))
    return [(style, counts[style] / len(kinds)) for style in _STYLES if counts[style]]


def _stacked(shares: list[tuple[str, float]]) -> list[CellPart]:
    """Return the parts of a cell from the top down."""
    parts, y = [], 0.0
    for style, share in shares:
        parts.append(CellPart(style, round(CELL_Y + y, 2), round(CELL_HEIGHT * share, 2)))
        y += CELL_HEIGHT * share
    return parts


def _mark(strip: Strip, offset: int, style: str, label: str, row: int) -> DrawnMark:
    x = _x(strip, offset)
    return DrawnMark(x, style, label, "end" if x > WIDTH * 0.72 else "start", row)


def _ways(strip: Strip, path: str) -> list[Way]:
    width = strip.end - strip.first
    half, quarter = max(1, width // 2), max(1, width // 4)
    near = strip.first + (width - half) // 2
    start, last = strip.log_start_offset, max(strip.log_start_offset, strip.log_end_offset - width)
    back, on = max(start, strip.first - quarter), max(start, min(strip.first + quarter, last))
    views = (
        ("All", "0", 0, None),
        ("Zoom in", "+", near, near + half),
        ("Zoom out", "-", max(start, strip.first - half), strip.end + half),
        ("Earlier", "←", back, back + width),
        ("Later", "→", on, on + width),
        ("End", "End", last, last + width),
    )
    return [Way(name, key, url(path, from_=low, to=high)) for name, key, low, high in views]
