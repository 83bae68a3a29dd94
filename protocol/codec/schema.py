"""Messages as data: the declarative structs of which everything in `protocol/` is made.

A message is a class whose fields have the properties of Kafka's definition: type, versions, nullability, default, tag.

    class EndTxnRequest(Request, key=26, versions="0-5", flexible="3+"):
        transactional_id: str = field(STRING)
        committed: bool = field(BOOL)

Such a class is an ordinary one with slots and a keyword-only constructor, so handlers, tests and mypy see plain
attributes. It knows nothing of bytes: `compile.py` turns a class and a version into functions, `reference.py` walks it.

Names are Kafka's in snake_case, ranges are Kafka's too: "3", "0-5", "3+". A field that is absent in a version decodes
to its default: the one given, or zero, "", an empty list. A field without `default=` must be given to the constructor.

Two differences: a tagged struct that may not be null is None when it was not sent (or is all defaults), so that a
response with thousands of partitions need not have thousands of empty structs; and topic ids are 16 raw bytes.

Nothing is computed before it is needed (a fast start-up is a feature): ranges are parsed when a codec is compiled, a
constructor is generated when the first instance is created.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from barnabas.protocol.older_python import dataclass_transform
from barnabas.protocol.primitives import ZERO_UUID

ALL_VERSIONS = "0+"
NO_VERSIONS = "none"


class VersionRange(NamedTuple):
    """An inclusive range of versions. Written "2", "0-5", "3+" or "none"."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> "VersionRange":
        if text == NO_VERSIONS:
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), 0x7FFF)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def includes(self, version: int) -> bool:
        return self.low <= version <= self.high


class FieldType:
    """A type of the wire format. `format` is the `struct` character of a fixed-width type, or None."""

    __slots__ = ("element", "format", "may_be_encoded", "name", "struct", "zero")

    def __init__(
        self,
        name: str,
        format: str | None = None,
        zero: Any = None,
        struct: "type[Struct] | None" = None,
        element: "FieldType | None" = None,
        may_be_encoded: bool = False,
    ) -> None:
        self.name = name
        self.format = format
        self.may_be_encoded = may_be_encoded  # of an array: an EncodedArray is accepted, too
        self.zero = zero  # the default of a field without one; not used for structs and arrays, which are mutable
        self.struct = struct
        self.element = element

    def __repr__(self) -> str:
        return self.name


INT8 = FieldType("int8", "b", 0)
INT16 = FieldType("int16", "h", 0)
UINT16 = FieldType("uint16", "H", 0)
INT32 = FieldType("int32", "i", 0)
INT64 = FieldType("int64", "q", 0)
FLOAT64 = FieldType("float64", "d", 0.0)
BOOL = FieldType("bool", "?", False)
UUID = FieldType("uuid", "16s", ZERO_UUID)
STRING = FieldType("string", zero="")
BYTES = FieldType("bytes", zero=b"")
RECORDS = FieldType("records")  # a view into the decoded buffer, not a copy


def array(element: "FieldType | type[Struct]", *, may_be_encoded: bool = False) -> FieldType:
    """Return the type of a list of `element`; `may_be_encoded`: or of an EncodedArray, in a message to encode."""
    element = _as_type(element)
    return FieldType("[]" + element.name, element=element, may_be_encoded=may_be_encoded)


class EncodedArray(list[Any]):
    """An array that is encoded already, for flexible versions: `data` is its count and elements; as a list it is empty.

    Code that looks for error codes or counts elements finds none, so the elements must have no errors.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes | bytearray) -> None:
        super().__init__()
        self.data = data


def _as_type(declared: "FieldType | type[Struct]") -> FieldType:
    if isinstance(declared, FieldType):
        return declared
    return FieldType(declared.__name__, struct=declared)


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


class Field:
    """One field of a struct: the properties of Kafka's definition, with ranges still as text."""

    __slots__ = ("default", "ignorable", "name", "nullable", "tag", "tagged_versions", "type", "versions")

    def __init__(
        self,
        type: FieldType,
        versions: str,
        nullable: str,
        default: Any,
        tag: int | None,
        tagged_versions: str,
        ignorable: bool,
    ) -> None:
        self.name = ""  # set by the class that contains it
        self.type = type
        self.versions = versions
        self.nullable = nullable
        self.default = default
        self.tag = tag
        self.tagged_versions = tagged_versions
        self.ignorable = ignorable

    @property
    def may_be_unset(self) -> bool:
        """Whether this is a tagged struct that cannot be null, so that None means its default."""
        return self.type.struct is not None and self.tag is not None and self.nullable == NO_VERSIONS

    def default_value(self) -> Any:
        """Return the field's value if it was not sent; a new object if that is mutable."""
        if self.default is not MISSING:
            return list(self.default) if isinstance(self.default, list) else self.default
        if self.type.element is not None:
            return []
        if self.type.struct is not None and not self.may_be_unset:
            return default_instance(self.type.struct)
        return self.type.zero

    def in_version(self, version: int) -> bool:
        return VersionRange.parse(self.versions).includes(version)

    def nullable_in(self, version: int) -> bool:
        return VersionRange.parse(self.nullable).includes(version)

    def tagged_in(self, version: int) -> bool:
        return VersionRange.parse(self.tagged_versions).includes(version)


def field(
    type: "FieldType | type[Struct]",
    *,
    versions: str = ALL_VERSIONS,
    nullable: str = NO_VERSIONS,
    default: Any = MISSING,
    tag: int | None = None,
    tagged: str | None = None,
    ignorable: bool = False,
) -> Any:
    """Declare a field.

    versions: those that have the field.       nullable: those in which it may be null.
    tag: its number in the tag section, in the versions `tagged` (by default, in all of `versions`).
    ignorable: an older version that lacks the field leaves it out; otherwise a value there cannot be written.
    """
    tagged_versions = NO_VERSIONS if tag is None else tagged or versions
    return Field(_as_type(type), versions, nullable, default, tag, tagged_versions, ignorable)


class Schema(NamedTuple):
    """The schema of a struct's class. A nested struct has no key, and its versions are its parent's."""

    fields: tuple[Field, ...]
    key: int | None
    versions: str | None
    flexible: str
    keeps_unknown_tags: bool

    @property
    def valid_versions(self) -> range:
        """The versions in which a top-level struct can be written."""
        low, high = VersionRange.parse(self.versions or NO_VERSIONS)
        return range(low, high + 1)

    def is_flexible(self, version: int) -> bool:
        return VersionRange.parse(self.flexible).includes(version)


def schema_of(struct: type) -> Schema:
    """Return the schema of a struct class, an empty one for any other class."""
    return getattr(struct, "__schema__", None) or Schema((), None, None, NO_VERSIONS, False)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class StructMeta(type):
    """Turns the declared fields of a class into slots and a schema."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        key: int | None = None,
        versions: str | None = None,
        flexible: str = NO_VERSIONS,
        keeps_unknown_tags: bool = False,
    ) -> "StructMeta":
        fields = []
        for attribute, value in namespace.items():
            if isinstance(value, Field):
                value.name = attribute
                fields.append(value)
        for declared in fields:
            del namespace[declared.name]
        if keeps_unknown_tags:
            del namespace["unknown_tags"]
            namespace["__slots__"] = ("unknown_tags",)
        else:
            namespace["__slots__"] = tuple(declared.name for declared in fields)
            keeps_unknown_tags = any(schema_of(base).keeps_unknown_tags for base in bases)
        namespace["__schema__"] = Schema(tuple(fields), key, versions, flexible, keeps_unknown_tags)
        return super().__new__(mcls, name, bases, namespace)

    # type.__init__ would refuse the class's keywords
    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: Any) -> None:
        super().__init__(name, bases, namespace)


class Struct(metaclass=StructMeta):
    """The base of nested structs, and of every message. Instances are mutable, compared by value and not hashable."""

    __schema__: ClassVar[Schema]
    __hash__ = None  # type: ignore[assignment]  # because a mutable value has no hash

    def __init__(self, **values: Any) -> None:
        _install_constructor(type(self))
        self.__init__(**values)  # type: ignore[misc]  # because the constructor just installed is called

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _attributes(type(self)))

    def __repr__(self) -> str:
        """Return the fields that differ from their defaults: what a reader of a failing test needs."""
        return f"{type(self).__name__}({', '.join(_described(self))})"


class Request(Struct):
    """The base of requests."""


class Response(Struct):
    """The base of responses."""


class Stored(Struct, keeps_unknown_tags=True):
    """The base of messages stored in logs. Unknown tagged fields of a newer release are preserved when rewriting."""

    unknown_tags: tuple[tuple[int, bytes], ...] = ()


def default_instance(struct: type[Struct]) -> Any:
    """Return an instance with the default of every field."""
    instance = struct.__new__(struct)
    for declared in struct.__schema__.fields:
        setattr(instance, declared.name, declared.default_value())
    if struct.__schema__.keeps_unknown_tags:
        instance.unknown_tags = ()  # type: ignore[attr-defined]  # because only a Stored comes here
    return instance


def _attributes(struct: type[Struct]) -> Iterator[str]:
    for declared in struct.__schema__.fields:
        yield declared.name
    if struct.__schema__.keeps_unknown_tags:
        yield "unknown_tags"


def _described(message: Struct) -> Iterator[str]:
    for declared in message.__schema__.fields:
        value = getattr(message, declared.name)
        if value == declared.default_value():
            continue
        if isinstance(value, (bytes, bytearray, memoryview)) and len(value) > 32:
            yield f"{declared.name}=<{len(value)} bytes>"
        else:
            yield f"{declared.name}={value!r}"
    if getattr(message, "unknown_tags", ()):
        yield f"unknown_tags={message.unknown_tags!r}"  # type: ignore[attr-defined]  # because getattr found it


def _install_constructor(struct: type[Struct]) -> None:
    """Generate the keyword-only constructor of `struct`: one assignment for each field, as if hand-written."""
    scope: dict[str, Any] = {"MISSING": MISSING}
    arguments, body = [], []
    for declared in struct.__schema__.fields:
        name, value = declared.name, declared.name
        if declared.default is MISSING:
            arguments.append(name)
        elif isinstance(declared.default, list):
            arguments.append(f"{name}=MISSING")
            value = f"[] if {name} is MISSING else {name}"
        else:
            scope[f"default_of_{name}"] = declared.default
            arguments.append(f"{name}=default_of_{name}")
        body.append(f"self.{name} = {value}")
    if struct.__schema__.keeps_unknown_tags:
        arguments.append("unknown_tags=()")
        body.append("self.unknown_tags = unknown_tags")
    star = ["*"] if arguments else []
    lines = "\n    ".join(body or ["pass"])
    exec(f"def __init__({', '.join(['self', *star, *arguments])}):\n    {lines}\n", scope)  # nosec B102 - of our own schemas
    constructor: Callable[..., None] = scope["__init__"]
    constructor.__qualname__ = f"{struct.__name__}.__init__"
    struct.__init__ = constructor  # type: ignore[method-assign]  # because generating it is the point
