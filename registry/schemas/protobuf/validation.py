"""What a new .proto file is held to beside its syntax: what protobuf's Java library asks of a descriptor.

protoc asks for more (no reserved names, a first constant 0 in proto3, ...); Confluent's registry does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from barnabas.registry.schemas.parsed_schema import InvalidSchema
from barnabas.registry.schemas.protobuf.model import (
    MAX_TAG,
    SCALARS,
    ProtoEnum,
    ProtoField,
    ProtoGroup,
    ProtoMessage,
    map_types,
)
from barnabas.registry.schemas.protobuf.types import ProtoTypes, within


def check(types: ProtoTypes) -> None:
    """Raise InvalidSchema for the first rule that a file breaks."""
    file = types.root
    _check_names(file.package, (each.name for each in (*file.types, *file.services)))
    for extend in file.extends:
        _check_fields(types, file.package, ((each.type, each.name) for each in extend.fields))
    waiting = [(type_, within(file.package, type_.name)) for type_ in file.types]
    while waiting:
        type_, scope = waiting.pop()
        if isinstance(type_, ProtoEnum):
            _check_enum(type_, scope)
            continue
        _check_message(types, type_, scope)
        waiting.extend((inner, within(scope, inner.name)) for inner in type_.types)


def _check_message(types: ProtoTypes, message: ProtoMessage, scope: str) -> None:
    groups = [*message.groups, *(group for oneof in message.oneofs for group in oneof.groups)]
    members: list[ProtoField | ProtoGroup] = [*message.all_fields, *groups]
    names = [each.name for each in members]
    names += [each.name for each in (*message.oneofs, *message.types)]
    _check_names(scope, names)
    for tag, count in Counter(each.tag for each in members).items():
        if count > 1:
            raise InvalidSchema(f'The message "{scope}" has the number {tag} twice.')
        if not 1 <= tag <= MAX_TAG:
            raise InvalidSchema(f'The message "{scope}" has a field of the number {tag}, which no field may have.')
    _check_fields(types, scope, ((each.type, each.name) for each in message.all_fields))


def _check_fields(types: ProtoTypes, scope: str, fields: Iterable[tuple[str, str]]) -> None:
    for type_, name in fields:
        parts = map_types(type_)
        if parts is not None and parts[0] not in SCALARS:
            raise InvalidSchema(f'The map "{name}" of "{scope}" has keys of {parts[0][:80]}, which none may have.')
        value = type_ if parts is None else parts[1]
        if value not in SCALARS and types.find(value, scope) is None:
            raise InvalidSchema(f'The type "{value[:200]}" of the field "{name}" of "{scope}" is not defined.')


def _check_enum(enum: ProtoEnum, scope: str) -> None:
    if not enum.constants:
        raise InvalidSchema(f'The enum "{scope}" has no constants.')
    _check_names(scope, (constant.name for constant in enum.constants))


def _check_names(scope: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidSchema(f'"{name[:200]}" is defined twice in "{scope}".')
