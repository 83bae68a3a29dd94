"""Formatting of numbers, times and bytes for people. Pure; the templates escape the result."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from datetime import UTC, datetime

_S, _MIN, _H, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_HEX_ROW = 16
_MOMENT_MS_MAX = 253_402_300_799_999  # the end of the year 9999
CUT = "…"
_DOTS = {each: "·" for each in (*range(32), 127) if chr(each) not in "\t\n\r"}
"""Of characters that HTML may not have."""


def number(value: int) -> str:
    """Format a number with thin spaces between thousands, which are easy to read in tables."""
    return f"{value:,}".replace(",", "\u202f")


def duration(ms: int) -> str:
    """Format a duration with two units at most: 3 min 20 s."""
    sign, ms = ("−", -ms) if ms < 0 else ("", ms)
    if ms < _S:
        return f"{sign}{ms} ms"
    if ms < _MIN:
        return f"{sign}{ms / _S:.1f} s" if ms < 10 * _S else f"{sign}{ms // _S} s"
    for unit, name, below, below_name in ((_DAY, "d", _H, "h"), (_H, "h", _MIN, "min"), (_MIN, "min", _S, "s")):
        if ms >= unit:
            rest = ms % unit // below
            return f"{sign}{ms // unit} {name}" + (f" {rest} {below_name}" if rest else "")
    raise AssertionError(ms)


def moment(ms: int) -> str:
    """Format a time in UTC to the millisecond; a dash for none, the number for one out of the calendar's range."""
    if ms < 0:
        return "–"
    if ms > _MOMENT_MS_MAX:
        return f"{ms} ms"
    text = datetime.fromtimestamp(ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds")
    return text.removesuffix("+00:00")


def size(count: int) -> str:
    """Format bytes, in a suitable unit."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def rate(value: float) -> str:
    """Format a number a second: 0, 0.4, 12, 1 234."""
    return f"{value:.1f}" if 0 < value < 10 else number(round(value))


def counted(count: int, noun: str) -> str:
    """Format a number with its noun: 1 partition, 2 partitions."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def preview(data: bytes | None, characters_max: int = 120) -> str:
    """Format the beginning of the data on one line."""
    if data is None:
        return "null"
    head = data[: characters_max * 4]  # a character has four bytes at most
    text = _text_of(head, is_cut=len(head) < len(data))
    if text is None:
        text = "0x" + head.hex()
    line = "".join(
        each if each.isprintable() else "␣" if each.isspace() else "·" for each in text[: characters_max + 1]
    )
    return line if len(line) <= characters_max else line[:characters_max] + CUT


def as_text(data: bytes, bytes_max: int) -> str:
    """Decode as UTF-8, with replacement characters for invalid bytes and dots for control characters."""
    text = data[:bytes_max].decode("utf-8", "replace").translate(_DOTS)
    return text + (CUT if len(data) > bytes_max else "")


def as_json(data: bytes, bytes_max: int) -> str | None:
    """Format as indented JSON; return None if it is not JSON."""
    if len(data) > bytes_max:
        return None
    try:
        return json.dumps(json.loads(data), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def as_hex(data: bytes, bytes_max: int) -> str:
    """Format in rows of sixteen bytes, with their text beside them."""
    rows = []
    for start in range(0, min(len(data), bytes_max), _HEX_ROW):
        row = data[start : min(start + _HEX_ROW, bytes_max)]
        text = "".join(chr(each) if 0x20 <= each < 0x7F else "·" for each in row)
        rows.append(f"{start:08x}  {row.hex(' '):<47}  {text}")
    return "\n".join(rows) + (f"\n{CUT}" if len(data) > bytes_max else "")


def _text_of(data: bytes, *, is_cut: bool) -> str | None:
    """Decode UTF-8 whose last character may be cut; return None if it is invalid."""
    try:
        return getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        return None
