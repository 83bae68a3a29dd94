"""Lines of a terminal as an SVG: text in a fixed-width font, readable on a light page and on a dark one."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from tests.support.terminal.recording import COLUMNS, Line

_CHARACTER_WIDTH = 8.0
_LINE_HEIGHT = 20
_MARGIN = 16
_BAR = 28
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def draw(lines: Sequence[Line]) -> str:
    """The picture."""
    rows = [row for line in lines for row in _folded(line)]
    width = int(COLUMNS * _CHARACTER_WIDTH) + 2 * _MARGIN
    height = _BAR + len(rows) * _LINE_HEIGHT + 2 * _MARGIN
    alternative = "\n".join(("$ " if line.is_typed else "") + line.text for line in lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' role="img">',
        f"<title>A recorded terminal</title><desc>{escape(alternative)}</desc>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1b1f27"/>',
        *(f'<circle cx="{18 + 18 * place}" cy="18" r="5" fill="#4a5160"/>' for place in range(3)),
        f'<g font-family="{_FONT}" font-size="13" xml:space="preserve">',
        *(_text(row, number) for number, row in enumerate(rows)),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _folded(line: Line) -> list[Line]:
    """The line as a terminal of this width shows it."""
    width = COLUMNS - 2 if line.is_typed else COLUMNS
    pieces = [line.text[start : start + width] for start in range(0, len(line.text), width)]
    return [Line(piece, line.is_typed) for piece in pieces or [""]]


def _text(row: Line, number: int) -> str:
    y = _BAR + _MARGIN + number * _LINE_HEIGHT + 6
    if not row.text:
        return ""
    x, prompt, fill = _MARGIN, "", "#aeb6c4"
    if row.is_typed:
        prompt = f'<text x="{_MARGIN}" y="{y}" fill="#7bc77e">$</text>'
        x, fill = _MARGIN + int(2 * _CHARACTER_WIDTH), "#ffffff"
    length = len(row.text) * _CHARACTER_WIDTH  # whatever font there is, columns stay columns
    return f'{prompt}<text x="{x}" y="{y}" fill="{fill}" textLength="{length:.0f}">{escape(row.text)}</text>'
