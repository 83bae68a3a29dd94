"""What a change of a keyword's value means, for keywords that are a limit: a length, a number, a count, a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any, NamedTuple

from barnabas.registry.schemas.json_schema.model import (
    JsonArrayShape,
    JsonEnumShape,
    JsonNumberShape,
    JsonObjectShape,
    JsonStringShape,
)

_DIGITS = 400  # of a quotient: more than any multipleOf has use for


class Change(NamedTuple):
    """A change that Confluent's rules refuse. path: where, relative to what was compared."""

    kind: str
    path: tuple[str, ...] = ()


def of_strings(original: JsonStringShape, update: JsonStringShape) -> Iterator[Change]:
    """Return the refused changes of lengths and pattern."""
    yield from _most("maxLength", "MAX_LENGTH", original.max_length, update.max_length)
    yield from _least("minLength", "MIN_LENGTH", original.min_length, update.min_length)
    if update.pattern is not None and original.pattern != update.pattern:
        yield Change("PATTERN_ADDED" if original.pattern is None else "PATTERN_CHANGED", ("pattern",))


def of_numbers(original: JsonNumberShape, update: JsonNumberShape) -> Iterator[Change]:
    """Return the refused changes of limits and factors, and from a number to an integer."""
    yield from _most("maximum", "MAXIMUM", original.maximum, update.maximum)
    yield from _least("minimum", "MINIMUM", original.minimum, update.minimum)
    yield from _most("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", original.exclusive_maximum, update.exclusive_maximum)
    yield from _least("exclusiveMinimum", "EXCLUSIVE_MINIMUM", original.exclusive_minimum, update.exclusive_minimum)
    yield from _factors(original.multiple_of, update.multiple_of)
    if update.requires_integer and not original.requires_integer:
        yield Change("TYPE_NARROWED")


def of_enums(original: JsonEnumShape, update: JsonEnumShape) -> Iterator[Change]:
    """Return the refused changes of an enum's values, or of a const."""
    if not original.values <= update.values:
        narrowed = original.kind == "enum" and update.values <= original.values
        yield Change("ENUM_ARRAY_NARROWED" if narrowed else "ENUM_ARRAY_CHANGED", (original.kind,))


def of_objects(original: JsonObjectShape, update: JsonObjectShape) -> Iterator[Change]:
    """Return the refused changes of an object's counts."""
    yield from _most("maxProperties", "MAX_PROPERTIES", original.max_properties, update.max_properties)
    yield from _least("minProperties", "MIN_PROPERTIES", original.min_properties, update.min_properties)


def of_arrays(original: JsonArrayShape, update: JsonArrayShape) -> Iterator[Change]:
    """Return the refused changes of an array's counts."""
    yield from _most("maxItems", "MAX_ITEMS", original.max_items, update.max_items)
    yield from _least("minItems", "MIN_ITEMS", original.min_items, update.min_items)
    if update.unique and not original.unique:
        yield Change("UNIQUE_ITEMS_ADDED", ("uniqueItems",))
    yield from _most("maxContains", "MAX_CONTAINS", original.max_contains, update.max_contains)
    yield from _least("minContains", "MIN_CONTAINS", original.min_contains, update.min_contains)


def of_required(original: JsonObjectShape, update: JsonObjectShape) -> Iterator[Change]:
    """Return the properties that were there and are now required, where no default stands for them."""
    for name in sorted(update.required - original.required):
        both = name in original.properties and name in update.properties
        if both and not update.properties[name].has_default:
            yield Change("REQUIRED_ATTRIBUTE_ADDED", ("required", name))


def of_dependent_required(original: JsonObjectShape, update: JsonObjectShape) -> Iterator[Change]:
    """Return what now depends on a property, and did not."""
    for name, needed in update.dependent_required.items():
        before = original.dependent_required.get(name)
        if before is None:
            yield Change("DEPENDENCY_ARRAY_ADDED", ("dependencies", name))
        elif not needed <= before:
            kind = "DEPENDENCY_ARRAY_EXTENDED" if needed >= before else "DEPENDENCY_ARRAY_CHANGED"
            yield Change(kind, ("dependencies", name))


def all_names(*mappings: Iterable[str]) -> dict[str, None]:
    """Return the keys of all mappings in order, each once."""
    return {key: None for mapping in mappings for key in mapping}


def _most(keyword: str, kind: str, original: Any, update: Any) -> Iterator[Change]:
    """Return the change of an upper limit, if it lets in less than before."""
    if update is not None and original is None:
        yield Change(f"{kind}_ADDED", (keyword,))
    elif update is not None and float(update) < float(original):
        yield Change(f"{kind}_DECREASED", (keyword,))


def _least(keyword: str, kind: str, original: Any, update: Any) -> Iterator[Change]:
    """Return the change of a lower limit, if it lets in less than before."""
    if update is not None and original is None:
        yield Change(f"{kind}_ADDED", (keyword,))
    elif update is not None and float(update) > float(original):
        yield Change(f"{kind}_INCREASED", (keyword,))


def _factors(original: Any, update: Any) -> Iterator[Change]:
    if update is None or original == update:
        return
    if original is None:
        yield Change("MULTIPLE_OF_ADDED", ("multipleOf",))
    elif _is_multiple(update, original):
        yield Change("MULTIPLE_OF_EXPANDED", ("multipleOf",))
    elif not _is_multiple(original, update):
        yield Change("MULTIPLE_OF_CHANGED", ("multipleOf",))


def _is_multiple(number: Any, factor: Any) -> bool:
    with localcontext() as context:
        context.prec = _DIGITS
        try:
            return Decimal(number) % Decimal(factor) == 0
        except InvalidOperation:  # more digits than a number has that anything is measured with
            return False
