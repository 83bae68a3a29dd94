"""Whether a reader's Avro schema can read a writer's data: the specification's resolution, in Java's words for it.

Theory of operation: pairs of types (reader's, writer's) are compared once each. A pair that is met again while it is
compared is compatible so far. Inside a union only yes or no counts, and a branch with a name is a candidate only for a
type of that name, so that large unions stay linear.

Invariant: the work is bounded, whatever the schemas: MAX_PAIRS pairs, and MAX_REASONS reasons of a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.registry.schemas.avro.model import (
    MISSING,
    AvroCollection,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroNamed,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from barnabas.registry.schemas.deep import Deep, run
from barnabas.registry.schemas.parsed_schema import Incompatibility, TooLargeToCompare, not_compared

MAX_PAIRS = 100_000
MAX_REASONS = 200
MAX_PATH = 200  # of its parts, in a message

# The kinds of a writer that a reader's kind takes beside itself.
PROMOTIONS = {
    "long": frozenset(("int",)),
    "float": frozenset(("int", "long")),
    "double": frozenset(("int", "long", "float")),
    "bytes": frozenset(("string",)),
    "string": frozenset(("bytes",)),
}
_DESCRIPTIONS = {
    "FIXED_SIZE_MISMATCH": "The size of FIXED type field at path '{path}' in the %s schema does not match with the %s "
    "schema",
    "TYPE_MISMATCH": "The type (path '{path}') of a field in the %s schema does not match with the %s schema",
    "NAME_MISMATCH": "The name of the schema has changed (path '{path}')",
    "MISSING_ENUM_SYMBOLS": "The %s schema is missing enum symbols '{detail}' at path '{path}' in the %s schema",
    "MISSING_UNION_BRANCH": "The %s schema is missing a type inside a union field at path '{path}' in the %s schema",
    "READER_FIELD_MISSING_DEFAULT_VALUE": "The field '{detail}' at path '{path}' in the %s schema has no default value "
    "and is missing in the %s schema",
}

# Where a type is: the place of what it is in, and its part of a JSON pointer. None is the schema itself.
_Place = tuple["_Place", str] | None
_Reasons = Sequence[Incompatibility]


def incompatibilities(reader: AvroType, writer: AvroType) -> Sequence[Incompatibility]:
    """Return why data of the writer's schema cannot be read with the reader's; empty if it can."""
    try:
        return run(_Comparison().compare(reader, writer, None))
    except (TooLargeToCompare, _AmbiguousField) as error:
        return [not_compared(error)]


class _AmbiguousField(Exception):
    """A field that stands, by its name and an alias, for two fields of the writer's."""


class _Comparison:
    """The pairs of types that were compared, with the reasons found for each; None while a pair is compared."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], _Reasons | None] = {}
        self._candidates: dict[int, _Candidates] = {}
        self._of_same_kind: dict[str, Callable[[AvroType, AvroType, _Place], Deep[_Reasons]]] = {
            "array": self._collections,
            "map": self._collections,
            "union": self._unions,
            "record": self._records,
            "enum": self._enums,
            "fixed": self._fixed,
        }

    def compare(self, reader: AvroType, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        """Return why one type cannot be read as another."""
        reader, writer = reader.resolved, writer.resolved
        pair = (id(reader), id(writer))
        if pair in self._pairs:
            return self._pairs[pair] or ()
        if len(self._pairs) >= MAX_PAIRS:
            raise TooLargeToCompare(f"the types of the schemas meet in more than {MAX_PAIRS} pairs")
        self._pairs[pair] = None
        reasons: _Reasons = yield self._new_pair(reader, writer, place)
        reasons = self._pairs[pair] = reasons[:MAX_REASONS]
        return reasons

    def _new_pair(self, reader: AvroType, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        if reader.kind == writer.kind:
            compare = self._of_same_kind.get(reader.kind)
            return () if compare is None else (yield compare(reader, writer, place))
        if isinstance(writer, AvroUnion):
            reasons: list[Incompatibility] = []
            for position, branch in enumerate(writer.branches):
                reasons += yield self.compare(reader, branch, (place, str(position)))
            return reasons
        if isinstance(reader, AvroUnion):
            result: _Reasons = yield self._branch_for(reader, writer, place)
            return result
        if writer.kind in PROMOTIONS.get(reader.kind, ()):
            return ()
        detail = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
        return (_reason("TYPE_MISMATCH", place, detail),)

    def _branch_for(self, reader: AvroUnion, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        candidates = self._candidates.get(id(reader))
        if candidates is None:
            candidates = self._candidates[id(reader)] = _Candidates(reader)
        for branch in candidates.for_writer(writer):
            if not (yield self.compare(branch, writer, None)):
                return ()
        return (_missing_branch(writer, place),)

    def _unions(self, reader: AvroType, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        assert isinstance(writer, AvroUnion)
        reasons: list[Incompatibility] = []
        for position, branch in enumerate(writer.branches):
            if (yield self.compare(reader, branch, None)):
                reasons.append(_missing_branch(branch.resolved, (place, str(position))))
        return reasons

    def _collections(self, reader: AvroType, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        assert isinstance(reader, AvroCollection)
        assert isinstance(writer, AvroCollection)
        part = "items" if reader.kind == "array" else "values"
        result: _Reasons = yield self.compare(reader.values, writer.values, (place, part))
        return result

    def _fixed(self, reader: AvroType, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        assert isinstance(reader, AvroFixed)
        assert isinstance(writer, AvroFixed)
        reasons = _names(reader, writer, place)
        if reader.size != writer.size:
            detail = f"expected: {writer.size}, found: {reader.size}"
            reasons.append(_reason("FIXED_SIZE_MISMATCH", (place, "size"), detail))
        return reasons
        yield  # a generator as the others are

    def _enums(self, reader: AvroType, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        assert isinstance(reader, AvroEnum)
        assert isinstance(writer, AvroEnum)
        reasons = _names(reader, writer, place)
        missing = set(writer.symbols) - set(reader.symbols)
        if missing and reader.default is None:
            detail = f"[{', '.join(sorted(missing))}]"
            reasons.append(_reason("MISSING_ENUM_SYMBOLS", (place, "symbols"), detail))
        return reasons
        yield

    def _records(self, reader: AvroType, writer: AvroType, place: _Place) -> Deep[_Reasons]:
        assert isinstance(reader, AvroRecord)
        assert isinstance(writer, AvroRecord)
        reasons = _names(reader, writer, place)
        written = {field.name: field for field in writer.fields}
        for position, field in enumerate(reader.fields):
            at = ((place, "fields"), str(position))
            source = _source(field, written, writer)
            if source is not None:
                reasons += yield self.compare(field.type, source.type, (at, "type"))
            elif field.default is MISSING:
                reasons += yield self._missing_field(field, writer, at)
        return reasons

    def _missing_field(self, field: AvroField, writer: AvroRecord, at: _Place) -> Deep[_Reasons]:
        type_ = field.type.resolved
        if isinstance(type_, AvroEnum) and type_.default is not None:
            reasons: _Reasons = yield self.compare(type_, writer, (at, "type"))  # as Java does
            return reasons
        return (_reason("READER_FIELD_MISSING_DEFAULT_VALUE", at, field.name),)


class _Candidates:
    """The branches of a reader's union that a writer's type may resolve to, by what decides it: kind or name."""

    def __init__(self, union: AvroUnion) -> None:
        self._by_kind: dict[str, list[AvroType]] = {}
        self._by_name: dict[str, list[AvroType]] = {}
        for branch in (each.resolved for each in union.branches):
            if isinstance(branch, AvroNamed):
                for name in {f".{branch.name.simple}", *branch.alias_names}:
                    self._by_name.setdefault(name, []).append(branch)
            else:
                self._by_kind.setdefault(branch.kind, []).append(branch)

    def for_writer(self, writer: AvroType) -> list[AvroType]:
        if isinstance(writer, AvroNamed):
            return [*self._by_name.get(f".{writer.name.simple}", ()), *self._by_name.get(writer.name.full, ())]
        kinds = [kind for kind, taken in PROMOTIONS.items() if writer.kind in taken]
        return [branch for kind in (writer.kind, *kinds) for branch in self._by_kind.get(kind, ())]


def _source(field: AvroField, written: dict[str, AvroField], writer: AvroRecord) -> AvroField | None:
    """Return the writer's field that a reader's field is read from, by its name or an alias."""
    names = [name for name in (field.name, *field.aliases) if name in written]
    if len(names) > 1:
        raise _AmbiguousField(f"Reader record field {field.name} matches multiple fields in {writer.name.full}")
    return written[names[0]] if names else None


def _names(reader: AvroNamed, writer: AvroNamed, place: _Place) -> list[Incompatibility]:
    """Compare the names of two types: the namespace does not count, except in an alias."""
    if reader.name.simple == writer.name.simple or writer.name.full in reader.alias_names:
        return []
    return [_reason("NAME_MISMATCH", (place, "name"), f"expected: {writer.name.full}")]


def _missing_branch(writer: AvroType, place: _Place) -> Incompatibility:
    return _reason("MISSING_UNION_BRANCH", place, f"reader union lacking writer type: {writer.kind.upper()}")


def _reason(kind: str, place: _Place, detail: str) -> Incompatibility:
    path = _path(place)
    description = _DESCRIPTIONS[kind].format(path=path, detail=detail)
    message = f"{{errorType:'{kind}', description:'{description}', additionalInfo:'{detail}'}}"
    return Incompatibility(kind, path, description, message)


def _path(place: _Place) -> str:
    parts: list[str] = []
    while place is not None:
        place, part = place
        parts.append(part)
    parts.reverse()
    return "/" + "/".join(parts if len(parts) <= MAX_PATH else [*parts[:MAX_PATH], "..."])
