"""Protobuf's answers to what the registry asks of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from barnabas.registry.schemas.parsed_schema import (
    Incompatibility,
    InvalidSchema,
    ParsedSchema,
    ReferencedSchema,
    TooLargeToCompare,
    flattened,
    not_compared,
)
from barnabas.registry.schemas.protobuf import (
    compatibility,
    descriptors,
    known,
    normalizing,
    parser,
    validation,
    writer,
)
from barnabas.registry.schemas.protobuf.model import ProtoEnum, ProtoFile, ProtoMessage
from barnabas.registry.schemas.protobuf.types import ProtoTypes, Source


class ProtobufSchema:
    """A valid .proto file, given as its text or as a descriptor in base64."""

    def __init__(self, text: str, references: Sequence[ReferencedSchema], *, is_new: bool) -> None:
        file = _parsed(text)
        imports: dict[str, tuple[ProtoFile, Source | None]] = {}
        direct = {reference.name for reference in references}
        for name, each in flattened(references).items():
            source = (each.subject, each.version) if name in direct else None
            imports[name] = (_parsed(each.text), source)
        if is_new:
            _check_imports(file, imports)
        self.types = ProtoTypes(file, imports)
        if is_new:
            validation.check(self.types)
            normalizing.normalized(self.types)

    @cached_property
    def canonical_text(self) -> str:
        """The text without comments, in Confluent's layout."""
        return writer.text_of(self.types.root)

    @cached_property
    def normalized_text(self) -> str:
        """The same of the file in Confluent's normalized form."""
        return writer.text_of(normalizing.normalized(self.types))

    def formatted_text(self, format_name: str) -> str:
        """Return the descriptor in base64 for `serialized`."""
        return descriptors.serialized(self.types) if format_name == "serialized" else self.canonical_text

    def described(self) -> Any:
        """Return the package, the imports, and the types with their fields by number."""
        file = self.types.root
        types = [_described(type_) for type_ in file.types]
        return {"syntax": file.syntax, "package": file.package, "imports": file.all_imports, "types": types}

    def has_top_level_field(self, name: str) -> bool:
        """Return whether a message of the file has this field outside of a oneof."""
        messages = [each for each in self.types.root.types if isinstance(each, ProtoMessage)]
        return any(field.name == name for message in messages for field in message.fields)

    def incompatibilities(self, writer: ParsedSchema, *, lenient: bool = False) -> Sequence[Incompatibility]:
        """Return the changes since a writer's schema that Confluent's rules refuse."""
        assert isinstance(writer, ProtobufSchema), "schemas of different languages are not compared"
        try:
            return compatibility.incompatibilities(writer.types, self.types)
        except TooLargeToCompare as error:
            return [not_compared(error)]


def _parsed(text: str) -> ProtoFile:
    try:
        return parser.parse(text)
    except InvalidSchema as refused:
        try:
            return descriptors.decode(text)
        except (ValueError, IndexError):
            raise refused from None


def _check_imports(file: ProtoFile, imports: dict[str, tuple[ProtoFile, Source | None]]) -> None:
    for path in file.all_imports:
        if path not in imports and path not in known.files():
            raise InvalidSchema(f'The import "{path[:200]}" is no reference of the schema.')


def _described(type_: ProtoMessage | ProtoEnum) -> dict[str, Any]:
    if isinstance(type_, ProtoEnum):
        return {"enum": type_.name, "constants": {constant.name: constant.tag for constant in type_.constants}}
    fields = {field.tag: f"{field.label} {field.type} {field.name}".strip() for field in type_.all_fields}
    return {"message": type_.name, "fields": fields, "types": [_described(inner) for inner in type_.types]}
