"""Answers of very many elements: encoded in slices, since a turn of the event loop should take some milliseconds.

Knows schemas and codecs, no API in particular. A client may request the description of a hundred thousand ids, and the
answer takes a second to encode. Nearly all others have few elements, and only their number is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.codec.compile import Codec
from barnabas.protocol.codec.schema import Response, Struct

ELEMENTS_MAX = 500
"""The number of elements of arrays, inner ones included, that are encoded at once: a millisecond or two."""
ENCODING = WorkClass(may_begin_again=False)

_Arrays: TypeAlias = tuple[tuple[str, "_Arrays"], ...]
"""The arrays of a struct, and those of their elements. Arrays of numbers are left out: these are packed in one call."""
_arrays: dict[type[Struct], _Arrays] = {}


def is_large(answer: Response) -> bool:
    """Return whether the answer has more than ELEMENTS_MAX elements. Stops counting there."""
    arrays = _arrays.get(type(answer))
    if arrays is None:
        arrays = _arrays[type(answer)] = _arrays_of(type(answer))
    return bool(arrays) and _left(answer, arrays, ELEMENTS_MAX) < 0


def encoded(
    answer: Response, codec: Codec[Any], header: bytes, note: Callable[[], Generator[None, None, None]] | None
) -> Generator[None, None, bytearray]:
    """Return the frame: its size, the header, and the answer. `note`: other work on each element."""
    out = bytearray(4) + header
    yield from codec.encode_in_steps(answer, out)
    if note is not None:
        yield from note()
    out[:4] = (len(out) - 4).to_bytes(4, "big")
    return out


def _left(struct: Struct, arrays: _Arrays, room: int) -> int:
    """Return for how many more elements there is room; negative if there is none."""
    for name, inner in arrays:
        elements = getattr(struct, name) or ()
        room -= len(elements)
        if inner:
            for element in elements:
                if room < 0:
                    return room
                room = _left(element, inner, room)
    return room


def _arrays_of(struct: type[Struct]) -> _Arrays:
    types = [(each.name, each.type.element) for each in struct.__schema__.fields if each.type.element is not None]
    return tuple(
        (name, () if element.struct is None else _arrays_of(element.struct))
        for name, element in types
        if element.format is None
    )
