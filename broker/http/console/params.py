"""The parameters of a request: its query and its form, parsed and checked. A refusal is one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

BAD_REQUEST, FORBIDDEN, NOT_FOUND, CONFLICT, UNAVAILABLE = 400, 403, 404, 409, 503
OFFSET_MAX = (1 << 63) - 1
_FIELDS_MAX = 50


class Refused(Exception):
    """A request is refused, or its subject does not exist. str() is the sentence."""

    def __init__(self, why: str, status: int = BAD_REQUEST) -> None:
        super().__init__(why)
        self.status = status


class RequestParams(NamedTuple):
    """The parameters of a request. words: of the query, or of the form if there is one. path: of the path."""

    words: Mapping[str, str]
    path: Mapping[str, str]

    def word(self, name: str, default: str = "") -> str:
        """Return the parameter unchanged; the default if it is empty."""
        return self.words.get(name) or default

    def needed(self, name: str) -> str:
        """Return the parameter. Raise Refused if it is missing."""
        if not self.words.get(name):
            raise Refused(f"{name} is missing")
        return self.words[name]

    def one_of(self, name: str, *allowed: str) -> str:
        """Return one of these words, the first if none is given. Raise Refused for another word."""
        word = self.word(name, allowed[0])
        if word not in allowed:
            raise Refused(f"{name} is one of {', '.join(allowed)}")
        return word

    def back(self, otherwise: str) -> str:
        """Return the page of the console where the form stood, or `otherwise` if the form does not name one."""
        here = self.word("back")
        return here if here.startswith("/console/") else otherwise

    def number(self, name: str, default: int, least: int = 0, most: int = OFFSET_MAX) -> int:
        """Return a whole number. Raise Refused if it is invalid, or outside the bounds."""
        return whole(name, self.word(name, str(default)), least, most)


def whole(name: str, text: str, least: int = 0, most: int = OFFSET_MAX) -> int:
    """Parse text as a whole number. Raise Refused if it is invalid, or outside the bounds."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        raise Refused(f"{name} is no whole number")
    value = int(text)
    if not least <= value <= most:
        raise Refused(f"{name} is not between {least} and {most}")
    return value


def words_of(text: bytes) -> dict[str, str]:
    """Parse a query, or a form. If a name occurs twice the last value counts."""
    try:
        pairs = parse_qsl(text.decode("ascii"), True, max_num_fields=_FIELDS_MAX, errors="strict")
        return dict(pairs)
    except ValueError:
        raise Refused("the query or form is malformed") from None
