"""A seed in a JSON text. A field that stands twice in one object is an error: one of the two would be lost.

Theory of operation: a fast decoder reads the seed, and its fields are counted before and after. `":` stands behind each
name, and elsewhere only where a string has these two characters, which are written alike in both texts, unless as
numbers. Where a field is missing, or something is wrong, the slower decoder of the standard library knows what it is.
So does it where a field was given with its default.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from barnabas.broker.server.seeding.document import Seed
from barnabas.broker.server.seeding.errors import SeedError

_FIELD = b'":'
_AS_NUMBERS = re.compile(rb"\\u00(?:22|3[aA])")


def whole_seed(content: bytes) -> Seed | None:
    """Return the seed that is written there, if it has every field of the text; None where it has to be read slowly."""
    try:
        seed = msgspec.json.decode(content, type=Seed)
        count = msgspec.json.format(content, indent=-1).count(_FIELD)  # without blanks
    except (msgspec.DecodeError, RecursionError):
        return None
    is_whole = count == msgspec.json.encode(seed).count(_FIELD) and not _AS_NUMBERS.search(content)
    return seed if is_whole else None


def json_values(text: str, path: str) -> object:
    """Return the values of this text of the file `path`. Raises SeedError."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, path))
    except json.JSONDecodeError as wrong:
        raise SeedError(f"{path}, line {wrong.lineno}: this is not JSON: {wrong.msg.lower()}") from wrong
    except RecursionError as wrong:
        raise SeedError(f"{path}: its values are nested too deeply") from wrong


def _unique(pairs: list[tuple[str, Any]], path: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SeedError(f"{path}: the field {twice} stands twice in one object")
    return found
