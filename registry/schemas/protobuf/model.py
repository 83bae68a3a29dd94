"""What a .proto file declares, in the order in which it is printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

MAX_TAG = 2**29 - 1
SCALARS = frozenset(
    (
        "bool",
        "bytes",
        "double",
        "fixed32",
        "fixed64",
        "float",
        "int32",
        "int64",
        "sfixed32",
        "sfixed64",
        "sint32",
        "sint64",
        "string",
        "uint32",
        "uint64",
    )
)


class OptionKind(Enum):
    """The kind of an option's value. NESTED: another option, of a field within."""

    STRING = "string"
    WORD = "word"
    NUMBER = "number"
    MAP = "map"
    LIST = "list"
    NESTED = "nested"


class ProtoValue(NamedTuple):
    """A value in a map or list of an option, where it is neither: a string, a word (true, a constant) or a number."""

    kind: OptionKind
    text: str


class ProtoOption(NamedTuple):
    """An option. is_custom: its name stands in parentheses, and is an extension's."""

    name: str
    kind: OptionKind
    value: Any
    is_custom: bool = False


class ProtoRange(NamedTuple):
    """Numbers from the first to the last."""

    first: int
    last: int


@dataclass(slots=True)
class ProtoReserved:
    """Names and numbers that are reserved, or numbers that are for extensions, with their options."""

    values: list[str | int | ProtoRange]
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoField:
    """A field; one of an extension, too."""

    name: str
    type: str
    tag: int
    label: str = ""
    default: str | None = None
    json_name: str | None = None
    options: list[ProtoOption] = field(default_factory=list)

    @property
    def map_types(self) -> tuple[str, str] | None:
        """The types of key and value, if it is a map."""
        return map_types(self.type)


@dataclass(slots=True)
class ProtoGroup:
    """A group: a field and its message in one."""

    name: str
    tag: int
    label: str
    fields: list[ProtoField]


@dataclass(slots=True)
class ProtoOneOf:
    """Fields of which a message has at most one."""

    name: str
    fields: list[ProtoField] = field(default_factory=list)
    groups: list[ProtoGroup] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoConstant:
    """A constant of an enum."""

    name: str
    tag: int
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoEnum:
    """An enum."""

    name: str
    constants: list[ProtoConstant] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)
    reserved: list[ProtoReserved] = field(default_factory=list)


@dataclass(slots=True)
class ProtoExtend:
    """Fields that extend a message."""

    name: str
    fields: list[ProtoField] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ProtoMessage:
    """A message with all that is declared in it."""

    name: str
    fields: list[ProtoField] = field(default_factory=list)
    oneofs: list[ProtoOneOf] = field(default_factory=list)
    groups: list[ProtoGroup] = field(default_factory=list)
    types: list[ProtoMessage | ProtoEnum] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)
    reserved: list[ProtoReserved] = field(default_factory=list)
    extensions: list[ProtoReserved] = field(default_factory=list)
    extends: list[ProtoExtend] = field(default_factory=list)

    @property
    def all_fields(self) -> Iterator[ProtoField]:
        """The fields, those of oneofs too."""
        yield from self.fields
        for oneof in self.oneofs:
            yield from oneof.fields

    @property
    def entry_types(self) -> tuple[str, str] | None:
        """The types of key and value, if the message is the entry of a map, as descriptors have them."""
        if not any(option.name == "map_entry" and str(option.value) == "true" for option in self.options):
            return None
        types = {each.name: each.type for each in self.fields}
        return types.get("key", ""), types.get("value", "")


@dataclass(slots=True)
class ProtoRpc:
    """A method of a service."""

    name: str
    request: str
    response: str
    streams_requests: bool = False
    streams_responses: bool = False
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoService:
    """A service."""

    name: str
    rpcs: list[ProtoRpc] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoFile:
    """A file. syntax: proto2, proto3, or empty if it does not say."""

    syntax: str = ""
    package: str = ""
    imports: list[str] = field(default_factory=list)
    public_imports: list[str] = field(default_factory=list)
    weak_imports: list[str] = field(default_factory=list)
    types: list[ProtoMessage | ProtoEnum] = field(default_factory=list)
    services: list[ProtoService] = field(default_factory=list)
    extends: list[ProtoExtend] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)

    @property
    def all_imports(self) -> list[str]:
        """The paths of all imports."""
        return [*self.imports, *self.public_imports, *self.weak_imports]


def map_types(type_: str) -> tuple[str, str] | None:
    """Return the types of key and value in `map<key, value>`."""
    if not type_.startswith("map<"):
        return None
    key, _, value = type_[4:-1].partition(", ")
    return key, value
