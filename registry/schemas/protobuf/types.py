"""The types and extensions that a file may name, and which one a name means, from the scope in which it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.registry.schemas.protobuf import known
from barnabas.registry.schemas.protobuf.model import (
    SCALARS,
    ProtoEnum,
    ProtoExtend,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    map_types,
)

Source = tuple[str, int]  # subject and version of a reference
LOCAL: Source = ("", -1)


class ProtoType(NamedTuple):
    """A type by its full name. source: the reference it came with; None for one that every schema knows."""

    name: str
    package: str
    element: ProtoMessage | ProtoEnum
    source: Source | None

    @property
    def local_name(self) -> str:
        """The name without the package."""
        return self.name.removeprefix(f"{self.package}.") if self.package else self.name


class ProtoTypes:
    """All types of a file, of the files that it may import, and of the known ones."""

    def __init__(self, root: ProtoFile, imports: dict[str, tuple[ProtoFile, Source | None]]) -> None:
        self.root = root
        self._types: dict[str, ProtoType] = {}
        self._extensions: dict[str, ProtoField] = {}
        for path, file in known.files().items():
            if path not in imports:
                self._collect(file, None)
        for file, source in imports.values():
            self._collect(file, source)
        self._collect(root, LOCAL)

    def find(self, name: str, scope: str) -> ProtoType | None:
        """Return the type that a name means in a scope, the innermost first."""
        return next((self._types[full] for full in _candidates(name, scope) if full in self._types), None)

    def extension(self, name: str, scope: str) -> str | None:
        """Return the full name of the extension that an option's name means."""
        return next((full for full in _candidates(name, scope) if full in self._extensions), None)

    def map_types(self, type_: str, scope: str) -> tuple[str, str] | None:
        """Return the types of key and value of a map, also of one that is written as a message for its entries."""
        if type_ in SCALARS:
            return None
        if type_.startswith("map<"):
            return map_types(type_)
        found = self.find(type_, scope)
        return found.element.entry_types if found is not None and isinstance(found.element, ProtoMessage) else None

    def _collect(self, file: ProtoFile, source: Source | None) -> None:
        self._collect_extensions(file.extends, file.package)
        waiting = [(type_, file.package) for type_ in file.types]
        while waiting:
            element, scope = waiting.pop()
            name = within(scope, element.name)
            self._types[name] = ProtoType(name, file.package, element, source)
            if isinstance(element, ProtoMessage):
                self._collect_extensions(element.extends, name)
                waiting.extend((type_, name) for type_ in element.types)

    def _collect_extensions(self, extends: Iterable[ProtoExtend], scope: str) -> None:
        for extend in extends:
            for field in extend.fields:
                self._extensions[within(scope, field.name)] = field


def within(scope: str, name: str) -> str:
    """Return the full name of what is named in a scope."""
    return f"{scope}.{name}" if scope else name


def _candidates(name: str, scope: str) -> Iterable[str]:
    if name.startswith("."):
        yield name[1:]
        return
    while scope:
        yield f"{scope}.{name}"
        scope = scope.rpartition(".")[0]
    yield name
