"""Whether a new JSON schema takes all values that an old one took, by Confluent's rules of what may change.

Theory of operation: two shapes are compared keyword by keyword; what may not change is a Change. A pair is compared
once. A pair that is met again while it is compared is compatible so far; if it then proves not to be, all is compared
again with that known, until no pair changes. Only refused changes are kept, as they alone decide.

The rules ask for the content model of objects and arrays: open (anything else is allowed), closed (nothing) or
partially open (what a schema of additional properties, of a pattern, or of unevaluated properties takes).

Invariant: the work is bounded, whatever the schemas: MAX_PAIRS pairs, and MAX_CHANGES changes of a pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.registry.schemas.deep import Deep, run
from barnabas.registry.schemas.json_schema import content, keywords, matching
from barnabas.registry.schemas.json_schema.keywords import Change
from barnabas.registry.schemas.json_schema.kinds import LENIENT, incompatibility
from barnabas.registry.schemas.json_schema.model import (
    JsonArrayShape,
    JsonCombined,
    JsonEnumShape,
    JsonNotShape,
    JsonNumberShape,
    JsonObjectShape,
    JsonShape,
    JsonStringShape,
)
from barnabas.registry.schemas.json_text import printed
from barnabas.registry.schemas.parsed_schema import Incompatibility, TooLargeToCompare

MAX_PAIRS = 200_000
MAX_CHANGES = 200
MAX_PATH = 100  # of its parts

_Pair = tuple[int, int]
_Changes = Sequence[Change]


def incompatibilities(original: JsonShape, update: JsonShape, *, lenient: bool = False) -> list[Incompatibility]:
    """Return why the values of the original schema are not all valid in the update; empty if they are."""
    known: Mapping[_Pair, _Changes] = {}
    budget = MAX_PAIRS
    while True:
        comparison = _Comparison(known, LENIENT if lenient else frozenset(), budget)
        changes: _Changes = run(comparison.compare(original, update))
        refused = comparison.refused()
        if not comparison.assumed or refused.keys() == known.keys():
            return [incompatibility(change.kind, change.path) for change in changes]
        known, budget = refused, comparison.budget


def at(part: str, changes: Iterable[Change]) -> list[Change]:
    """Return changes within a part of what is compared."""
    return [Change(change.kind, (part, *change.path)[:MAX_PATH]) for change in changes]


class _Comparison:
    """The pairs of shapes that were compared, with the changes of each; None while a pair is compared.

    assumed: whether a pair was taken for compatible that was not compared to the end.
    """

    def __init__(self, known: Mapping[_Pair, _Changes], allowed: frozenset[str], budget: int) -> None:
        self._known = known
        self._allowed = allowed
        self.budget = budget
        self.assumed = False
        self._pairs: dict[_Pair, _Changes | None] = {}
        self._texts: dict[int, str] = {}

    def refused(self) -> dict[_Pair, _Changes]:
        """Return the pairs that are not compatible, with their changes."""
        return {pair: changes for pair, changes in self._pairs.items() if changes}

    def compare(self, original: JsonShape | None, update: JsonShape | None) -> Deep[_Changes]:
        """Return the refused changes from one shape to another."""
        if original is None or update is None:
            return [] if update is None else [Change("SCHEMA_ADDED")]
        original, update = original.target, update.target
        pair = (id(original), id(update))
        if pair in self._pairs:
            return self._met_again(pair)
        self.budget -= 1
        if self.budget < 0:
            raise TooLargeToCompare(f"the schemas have more than {MAX_PAIRS} pairs of parts to compare")
        self._pairs[pair] = None
        changes: _Changes = yield self._new_pair(original, update)
        changes = [change for change in changes if change.kind not in self._allowed][:MAX_CHANGES]
        self._pairs[pair] = changes
        return changes

    def _met_again(self, pair: _Pair) -> _Changes:
        changes = self._pairs[pair]
        if changes is None:
            changes = self._known.get(pair)
        if changes is None:
            self.assumed = True
        return changes or ()

    def _new_pair(self, original: JsonShape, update: JsonShape) -> Deep[_Changes]:
        is_in_union = isinstance(original, JsonCombined) != isinstance(update, JsonCombined)
        if is_in_union and (yield self._is_one_of(original, update)):
            return []
        if original.kind == update.kind:
            result: _Changes = yield self._same_kind(original, update)
            return result
        if original.kind == "false" or update.accepts_all:
            return []
        if original.connect_type == update.connect_type == "bytes":
            return []  # a decimal of the JSON converter, whose type changed
        return [Change("TYPE_CHANGED")]

    def _is_one_of(self, original: JsonShape, update: JsonShape) -> Deep[bool]:
        """Tell whether a schema went into a union, or was taken out of a product."""
        combined = update if isinstance(update, JsonCombined) else original
        assert isinstance(combined, JsonCombined)
        is_widened = combined is update
        if len(combined.schemas) != 1 and (combined.criterion == "allOf") is is_widened:
            return False
        for schema in combined.schemas:
            pair = (original, schema) if is_widened else (schema, update)
            if not (yield self.compare(*pair)):
                return True
        return False

    def _same_kind(self, original: JsonShape, update: JsonShape) -> Deep[_Changes]:
        if isinstance(original, JsonObjectShape) and isinstance(update, JsonObjectShape):
            result: _Changes = yield self._objects(original, update)
            return result
        if isinstance(original, JsonArrayShape) and isinstance(update, JsonArrayShape):
            result = yield self._arrays(original, update)
            return result
        if isinstance(original, JsonCombined) and isinstance(update, JsonCombined):
            result = yield self._combined(original, update)
            return result
        if isinstance(original, JsonNotShape) and isinstance(update, JsonNotShape):
            widened: _Changes = yield self.compare(update.inner, original.inner)
            return [Change("NOT_TYPE_EXTENDED", ("not",))] if widened else []
        if isinstance(original, JsonStringShape) and isinstance(update, JsonStringShape):
            return list(keywords.of_strings(original, update))
        if isinstance(original, JsonNumberShape) and isinstance(update, JsonNumberShape):
            return list(keywords.of_numbers(original, update))
        if isinstance(original, JsonEnumShape) and isinstance(update, JsonEnumShape):
            return list(keywords.of_enums(original, update))
        return []

    def _combined(self, original: JsonCombined, update: JsonCombined) -> Deep[_Changes]:
        if not _may_become(original, update):
            return [Change("COMBINED_TYPE_CHANGED")]
        old, new = self._distinct(original), self._distinct(update)
        changes = []
        if len(old) < len(new) and update.criterion == "allOf":
            changes.append(Change("PRODUCT_TYPE_EXTENDED"))
        elif len(old) > len(new) and original.criterion != "allOf":
            changes.append(Change("SUM_TYPE_NARROWED"))
        edges: list[list[int]] = []
        for before in old:
            edges.append([])
            for position, after in enumerate(new):
                if not (yield self.compare(before, after)):
                    edges[-1].append(position)
        if matching.largest(edges) < min(len(old), len(new)):
            changes.append(Change("COMBINED_TYPE_SUBSCHEMAS_CHANGED"))
        return changes

    def _distinct(self, combined: JsonCombined) -> list[JsonShape]:
        found: dict[object, JsonShape] = {}
        for schema in combined.schemas:
            key = id(schema)
            if schema.node is not None and key not in self._texts:
                self._texts[key] = printed(schema.node)
            found.setdefault(self._texts.get(key, key), schema)
        return list(found.values())

    def _objects(self, original: JsonObjectShape, update: JsonObjectShape) -> Deep[_Changes]:
        changes = list(keywords.of_required(original, update))
        for name in keywords.all_names(original.properties, update.properties):
            found: _Changes = yield self._property(name, original, update)
            changes += at("properties", at(name, found))
        changes += keywords.of_dependent_required(original, update)
        for name, schema in update.dependent_schemas.items():
            if name not in original.dependent_schemas:
                changes.append(Change("DEPENDENCY_SCHEMA_ADDED", ("dependencies", name)))
            else:
                found = yield self.compare(original.dependent_schemas[name], schema)
                changes += at("dependencies", at(name, found))
        changes += yield self._rest(original, update, "Properties")
        changes += keywords.of_objects(original, update)
        return changes

    def _property(self, name: str, original: JsonObjectShape, update: JsonObjectShape) -> Deep[_Changes]:
        before, after = original.properties.get(name), update.properties.get(name)
        if before is not None and after is not None:
            result: _Changes = yield self.compare(before, after)
            return result
        if after is None:
            result = yield self._removed(before, update, name)
            return result
        changes: list[Change] = yield self._added(after, original, name)
        return [*changes, *_required_when_added(name, after, original, update)]

    def _arrays(self, original: JsonArrayShape, update: JsonArrayShape) -> Deep[_Changes]:
        changes = at("items", (yield self.compare(original.items, update.items)))
        old, new = original.tuple_items, update.tuple_items
        for position in range(max(len(old), len(new))):
            if position >= len(new):
                found: _Changes = yield self._removed(old[position], update)
            elif position >= len(old):
                found = yield self._added(new[position], original)
                if content.is_open(original) and not new[position].target.accepts_all:
                    found = [Change("ITEM_ADDED_TO_OPEN_CONTENT_MODEL")]
            else:
                found = yield self.compare(old[position], new[position])
            changes += at(f"items/{position}", found)
        changes += yield self._rest(original, update, "Items")
        changes += keywords.of_arrays(original, update)
        return changes

    def _removed(
        self, before: JsonShape | None, update: JsonObjectShape | JsonArrayShape, name: str | None = None
    ) -> Deep[_Changes]:
        """Return the changes where a property or an item is no longer named."""
        assert before is not None
        what = "ITEM" if name is None else "PROPERTY"
        if content.is_open(update):
            return []
        covering = content.partial(update, name)
        if covering is None:
            return [] if before.target.kind == "false" else [Change(f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL")]
        changes: _Changes = yield self.compare(before, covering)
        return [*changes, Change(f"{what}_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")] if changes else []

    def _added(
        self, after: JsonShape, original: JsonObjectShape | JsonArrayShape, name: str | None = None
    ) -> Deep[_Changes]:
        """Return the changes where a property or an item is named that a partially open content model had."""
        covering = None if content.is_open(original) else content.partial(original, name)
        if covering is None:
            return []
        what = "ITEM" if name is None else "PROPERTY"
        changes: _Changes = yield self.compare(covering, after)
        return [*changes, Change(f"{what}_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")] if changes else []

    def _rest(
        self, original: JsonObjectShape | JsonArrayShape, update: JsonObjectShape | JsonArrayShape, what: str
    ) -> Deep[_Changes]:
        """Return the changes of what is not named: additionalProperties, or additionalItems, and unevaluated ones."""
        kind = what.upper()
        changes: _Changes = []
        if original.additional != update.additional:
            changes = [Change(f"ADDITIONAL_{kind}_REMOVED")] if original.additional else []
        elif original.additional_schema is None and update.additional_schema is not None:
            changes = [Change(f"ADDITIONAL_{kind}_NARROWED")]
        elif update.additional_schema is not None:
            changes = yield self.compare(original.additional_schema, update.additional_schema)
        unevaluated: _Changes = yield self._unevaluated(original.unevaluated, update.unevaluated, kind)
        return [*at(f"additional{what}", changes), *at(f"unevaluated{what}", unevaluated)]

    def _unevaluated(self, original: JsonShape | None, update: JsonShape | None, kind: str) -> Deep[_Changes]:
        if update is None or (update.target.accepts_all and original is not None):
            return []
        if original is not None and original.kind == "false":
            return []
        if update.kind == "false":
            return [Change(f"UNEVALUATED_{kind}_REMOVED")]
        if original is None or original.accepts_all:
            return [Change(f"UNEVALUATED_{kind}_NARROWED")]
        result: _Changes = yield self.compare(original, update)
        return result


def _may_become(original: JsonCombined, update: JsonCombined) -> bool:
    """Return whether one criterion may take the place of another, by what they mean for so many schemas."""
    if original.criterion == update.criterion or update.criterion == "anyOf":
        return True
    was_single, is_single = len(original.schemas) == 1, len(update.schemas) == 1
    return (was_single and (is_single or update.criterion == "oneOf")) or (is_single and original.criterion == "allOf")


def _required_when_added(
    name: str, after: JsonShape, original: JsonObjectShape, update: JsonObjectShape
) -> list[Change]:
    """Return the change that a new property is by itself: by the content model before, and whether it is required."""
    is_open = content.is_open(original)
    if is_open and after.target.accepts_all:
        return []
    if name not in update.required:
        return [Change("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL")] if is_open else []
    if not is_open:
        return [] if after.has_default else [Change("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL")]
    with_default = "_WITH_DEFAULT" if after.has_default else ""
    return [Change(f"REQUIRED_PROPERTY{with_default}_ADDED_TO_OPEN_CONTENT_MODEL")]
