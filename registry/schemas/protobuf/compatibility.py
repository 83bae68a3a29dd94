"""Whether a new .proto file reads the data of an old one, by Confluent's rules of what may change.

Fields are compared by their numbers, whatever their names. A type of another file is compared, if the two files refer
to different versions of it. Only what is refused is told.

Invariant: the work is bounded, whatever the schemas: MAX_PAIRS pairs of messages, and MAX_CHANGES changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.registry.schemas.deep import Deep, run
from barnabas.registry.schemas.parsed_schema import Incompatibility, TooLargeToCompare
from barnabas.registry.schemas.protobuf.model import (
    SCALARS,
    ProtoEnum,
    ProtoField,
    ProtoMessage,
    ProtoOneOf,
)
from barnabas.registry.schemas.protobuf.types import ProtoType, ProtoTypes, within

MAX_PAIRS = 100_000
MAX_CHANGES = 200

# Scalars that one field may change between, as they are encoded alike.
_SCALAR_KINDS = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool"), "general number"),
    **dict.fromkeys(("sint32", "sint64"), "signed number"),
    **dict.fromkeys(("string", "bytes"), "string or bytes"),
    **dict.fromkeys(("fixed32", "sfixed32"), "fixed32"),
    **dict.fromkeys(("fixed64", "sfixed64"), "fixed64"),
    "float": "float",
    "double": "double",
}
_OF_THE_OTHER = "in the %s schema does not match"
_DESCRIPTIONS = {
    "PACKAGE_CHANGED": f"The package at '{{path}}' {_OF_THE_OTHER} the package in the %s schema",
    "MESSAGE_REMOVED": "The %s schema is missing a MESSAGE type at path '{path}' in the %s schema",
    "FIELD_KIND_CHANGED": f"The type of a field at path '{{path}}' {_OF_THE_OTHER} the %s schema",
    "FIELD_SCALAR_KIND_CHANGED": f"The kind of a SCALAR field at path '{{path}}' {_OF_THE_OTHER} its kind in the %s "
    "schema",
    "FIELD_NAMED_TYPE_CHANGED": f"The type of a MESSAGE field at path '{{path}}' {_OF_THE_OTHER} its type in the %s "
    "schema",
    "FIELD_NUMERIC_LABEL_CHANGED": f"The label for a NUMERIC field at path '{{path}}' {_OF_THE_OTHER} its label in "
    "the %s schema",
    "REQUIRED_FIELD_ADDED": "A required field  at path '{path}' in the %s schema is missing in the %s schema",
    "REQUIRED_FIELD_REMOVED": "The %s schema is missing a required field at path: '{path}' in the %s schema",
    "ONEOF_FIELD_REMOVED": "The %s schema is missing a oneof field at path '{path}' in the %s schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "Multiple fields in the oneof at path '{path}' in the %s schema are outside a "
    "oneof in the %s schema",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "A field in the oneof at path '{path}' in the %s schema is outside an existing "
    "oneof in the %s schema",
}

_Path = tuple[str, ...]
_Change = tuple[str, _Path]
_Changes = Sequence[_Change]


def incompatibilities(original: ProtoTypes, update: ProtoTypes) -> list[Incompatibility]:
    """Return the changes that Confluent's rules refuse."""
    changes = run(_Comparison(original, update).files())
    return [_incompatibility(kind, path) for kind, path in changes[:MAX_CHANGES]]


class _Scopes(NamedTuple):
    """Where names are resolved, in the original and in the update."""

    original: str
    update: str

    def within(self, name: str) -> _Scopes:
        return _Scopes(within(self.original, name), within(self.update, name))


class _Members(NamedTuple):
    """The fields of a message by number, and the oneofs that they are in."""

    fields: dict[int, ProtoField]
    oneof_of: dict[int, str]
    oneofs: dict[str, ProtoOneOf]


class _Comparison:
    """Two files, and the messages of others that were compared; None while they are."""

    def __init__(self, original: ProtoTypes, update: ProtoTypes) -> None:
        self._original = original
        self._update = update
        self._pairs: dict[tuple[int, int], _Changes | None] = {}

    def files(self) -> Deep[_Changes]:
        """Return the refused changes from one file to the other."""
        before, after = self._original.root, self._update.root
        changes: list[_Change] = [("PACKAGE_CHANGED", ())] if before.package != after.package else []
        changes += yield self._types(before.types, after.types, (), _Scopes(before.package, after.package))
        return changes

    def _types(
        self,
        original: Iterable[ProtoMessage | ProtoEnum],
        update: Iterable[ProtoMessage | ProtoEnum],
        path: _Path,
        scopes: _Scopes,
    ) -> Deep[_Changes]:
        """Compare the messages of a scope; nothing that changes in an enum is refused."""
        after = {type_.name: type_ for type_ in update if isinstance(type_, ProtoMessage)}
        changes: list[_Change] = []
        for message in original:
            if not isinstance(message, ProtoMessage):
                continue
            at = (*path, message.name)
            if message.name in after:
                changes += yield self._messages(message, after[message.name], at, scopes.within(message.name))
            elif message.entry_types is None:
                changes.append(("MESSAGE_REMOVED", at))
            if len(changes) > MAX_CHANGES:
                break
        return changes[:MAX_CHANGES]

    def _messages(self, original: ProtoMessage, update: ProtoMessage, path: _Path, scopes: _Scopes) -> Deep[_Changes]:
        before, after = _members(original), _members(update)
        changes = list(_oneof_changes(before, after, path))
        for tag in sorted({*before.fields, *after.fields}):
            if tag in before.fields and tag in after.fields:
                at = (*path, after.oneof_of[tag]) if tag in after.oneof_of else path
                changes += yield self._fields(before.fields[tag], after.fields[tag], (*at, str(tag)), scopes)
            else:
                changes += _added_or_removed(tag, before, after, path)
        changes += yield self._types(original.types, update.types, path, scopes)
        return changes[:MAX_CHANGES]

    def _fields(self, original: ProtoField, update: ProtoField, path: _Path, scopes: _Scopes) -> Deep[_Changes]:
        labels = (original.label, update.label) if original.label and update.label else ("", "")
        result: _Changes = yield self._field_types((original.type, update.type), labels, path, scopes)
        return result

    def _field_types(
        self, types: tuple[str, str], labels: tuple[str, str], path: _Path, scopes: _Scopes
    ) -> Deep[_Changes]:
        maps = (
            self._original.map_types(types[0], scopes.original),
            self._update.map_types(types[1], scopes.update),
        )
        if maps[0] is not None and maps[1] is not None:
            changes: list[_Change] = []
            for before, after in zip(maps[0], maps[1], strict=True):
                changes += yield self._field_types((before, after), ("", ""), path, scopes)
            return changes
        kinds = (
            _scalar_kind(self._original, types[0], scopes.original),
            _scalar_kind(self._update, types[1], scopes.update),
        )
        if (kinds[0] is None) != (kinds[1] is None) or (maps[0] is None) != (maps[1] is None):
            return [("FIELD_KIND_CHANGED", path)]
        if kinds[0] is None:
            result: _Changes = yield self._named_types(types, path, scopes)
            return result
        if kinds[0] != kinds[1]:
            return [("FIELD_SCALAR_KIND_CHANGED", path)]
        is_refused = labels[0] != labels[1] and kinds[0] != "string or bytes"
        return [("FIELD_NUMERIC_LABEL_CHANGED", path)] if is_refused else []

    def _named_types(self, types: tuple[str, str], path: _Path, scopes: _Scopes) -> Deep[_Changes]:
        before = self._original.find(types[0], scopes.original)
        after = self._update.find(types[1], scopes.update)
        if before is None or after is None:
            return [("FIELD_NAMED_TYPE_CHANGED", path)] if types[0] != types[1] else []
        if before.local_name != after.local_name:
            return [("FIELD_NAMED_TYPE_CHANGED", path)]
        if before.source is not None and before.source == after.source:
            return []
        changes: _Changes = yield self._referenced(before, after)
        return [*changes, ("FIELD_NAMED_TYPE_CHANGED", path)] if changes else []

    def _referenced(self, before: ProtoType, after: ProtoType) -> Deep[_Changes]:
        """Compare messages of other files, each pair once."""
        pair = (id(before.element), id(after.element))
        if pair in self._pairs:
            return self._pairs[pair] or ()
        if len(self._pairs) >= MAX_PAIRS:
            raise TooLargeToCompare(f"the schemas have more than {MAX_PAIRS} pairs of messages to compare")
        self._pairs[pair] = None
        changes: _Changes = []
        if isinstance(before.element, ProtoMessage) and isinstance(after.element, ProtoMessage):
            path = tuple(before.local_name.split("."))
            changes = yield self._messages(before.element, after.element, path, _Scopes(before.name, after.name))
        self._pairs[pair] = changes
        return changes


def _members(message: ProtoMessage) -> _Members:
    members = _Members({field.tag: field for field in message.fields}, {}, {})
    for oneof in message.oneofs:
        members.oneofs[oneof.name] = oneof
        for field in oneof.fields:
            members.fields[field.tag] = field
            members.oneof_of[field.tag] = oneof.name
    return members


def _oneof_changes(before: _Members, after: _Members, path: _Path) -> Iterable[_Change]:
    """Return the oneofs whose fields could be set together before."""
    for name, oneof in after.oneofs.items():
        known = [field.tag for field in oneof.fields if field.tag in before.fields]
        moved_in = [tag for tag in known if tag not in before.oneof_of]
        groups = len(moved_in) + len({before.oneof_of[tag] for tag in known if tag in before.oneof_of})
        if groups > 1:
            several = len(moved_in) > 1
            kind = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if several else "FIELD_MOVED_TO_EXISTING_ONEOF"
            yield kind, (*path, name)


def _added_or_removed(tag: int, before: _Members, after: _Members, path: _Path) -> Iterable[_Change]:
    if tag in after.fields:
        if after.fields[tag].label == "required":
            yield "REQUIRED_FIELD_ADDED", (*path, str(tag))
    elif tag not in before.oneof_of:
        if before.fields[tag].label == "required":
            yield "REQUIRED_FIELD_REMOVED", (*path, str(tag))
    else:
        name = before.oneof_of[tag]
        is_deleted = name not in after.oneofs and all(
            each.tag not in after.fields for each in before.oneofs[name].fields
        )
        if not is_deleted:  # a oneof may go with all its fields
            yield "ONEOF_FIELD_REMOVED", (*path, name, str(tag))


def _scalar_kind(types: ProtoTypes, type_: str, scope: str) -> str | None:
    """Return how a type is encoded; None for one that is no scalar and no enum."""
    if type_ in SCALARS:
        return _SCALAR_KINDS[type_]
    if type_.startswith("map<"):
        return None
    found = types.find(type_, scope)
    return "general number" if found is not None and isinstance(found.element, ProtoEnum) else None


def _incompatibility(kind: str, parts: _Path) -> Incompatibility:
    path = "#/" + "/".join(parts)
    description = _DESCRIPTIONS[kind].format(path=path)
    return Incompatibility(kind, path, description, f'{{errorType:"{kind}", description:"{description}"}}')
