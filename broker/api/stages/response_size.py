# compiled: mypyc
"""Whether an answer is so large that it is encoded in slices: by the number of its elements.

Knows schemas, no API in particular. Every answer of an object is looked at, and nearly all are small.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from barnabas.protocol.codec.schema import Response, Struct

ELEMENTS_MAX: Final = 500
"""The number of elements of arrays, inner ones included, that are encoded at once: a millisecond or two."""

_Arrays: TypeAlias = tuple[tuple[str, "_Arrays"], ...]
"""The arrays of a struct, and those of their elements. Arrays of numbers are left out: these are packed in one call."""
_arrays: dict[type[Struct], _Arrays] = {}


def is_large(answer: Response) -> bool:
    """Return whether the answer has more than ELEMENTS_MAX elements. Stops counting there."""
    arrays = _arrays.get(type(answer))
    if arrays is None:
        arrays = _arrays[type(answer)] = _arrays_of(type(answer))
    return bool(arrays) and _left(answer, arrays, ELEMENTS_MAX) < 0


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
