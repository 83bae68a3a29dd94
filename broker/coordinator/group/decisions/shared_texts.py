"""One object for equal texts: thousands of members of groups have the same client id, address and topics.

The tables are bounded, and so is the size of an entry: a text that was not used for long is dropped, and its next use
makes a new object. (`sys.intern` would do, but since Python 3.12 it stores its strings until the process ends, so a
client that connects with ever new client ids could fill the memory.)
"""

from __future__ import annotations

from functools import lru_cache

TEXTS_MAX = 4_096
TEXT_LENGTH_MAX = 256
LISTS_MAX = 256
LIST_LENGTH_MAX = 256


def shared(text: str) -> str:
    """Return the text as a shared object. A long one is returned unchanged."""
    return _shared(text) if len(text) <= TEXT_LENGTH_MAX else text


def shared_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in the same order as a shared object. Very many of them are returned unchanged."""
    if len(names) > LIST_LENGTH_MAX or any(len(name) > TEXT_LENGTH_MAX for name in names):
        return names
    return _shared_names(names)


@lru_cache(maxsize=TEXTS_MAX)
def _shared(text: str) -> str:
    return text


@lru_cache(maxsize=LISTS_MAX)
def _shared_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(shared, names))
