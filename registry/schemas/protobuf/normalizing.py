"""Confluent's normalized form of a .proto file: names in full, and in order what has no order of its own.

Messages and enums keep their order, since clients write their positions into records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any

from barnabas.registry.schemas.parsed_schema import InvalidSchema
from barnabas.registry.schemas.protobuf.model import (
    SCALARS,
    OptionKind,
    ProtoEnum,
    ProtoExtend,
    ProtoField,
    ProtoFile,
    ProtoGroup,
    ProtoMessage,
    ProtoOneOf,
    ProtoOption,
    ProtoRange,
    ProtoReserved,
    ProtoRpc,
    ProtoService,
    ProtoValue,
)
from barnabas.registry.schemas.protobuf.types import ProtoTypes, within

_THOUSANDTHS = Decimal("0.001")
_MAX_DIGITS = 40  # of a number that is written anew


def normalized(types: ProtoTypes) -> ProtoFile:
    """Return the normalized form of a file; InvalidSchema if it names a type that is not there."""
    return _Normalizer(types).file()


class _Normalizer:
    """The names of a file, in full."""

    def __init__(self, types: ProtoTypes) -> None:
        self._types = types

    def file(self) -> ProtoFile:
        file = self._types.root
        return ProtoFile(
            syntax=file.syntax if file.syntax == "proto3" else "",
            package=file.package,
            imports=sorted(set(file.imports)),
            public_imports=sorted(set(file.public_imports)),
            types=self._all_types(file.types, file.package),
            services=[self._service(service, file.package) for service in file.services],
            extends=self._extends(file.extends, file.package),
            options=self._options(file.options, file.package),
        )

    def _all_types(self, types: Iterable[ProtoMessage | ProtoEnum], scope: str) -> list[ProtoMessage | ProtoEnum]:
        made: list[ProtoMessage | ProtoEnum] = []
        for type_ in types:
            inner = within(scope, type_.name)
            if isinstance(type_, ProtoEnum):
                made.append(self._enum(type_, inner))
            elif type_.entry_types is None:  # the entries of a map are written with its field
                made.append(self._message(type_, inner))
        return made

    def _message(self, message: ProtoMessage, scope: str) -> ProtoMessage:
        oneofs = [
            ProtoOneOf(
                oneof.name,
                self._fields(oneof.fields, scope),
                self._groups(oneof.groups, scope),
                self._options(oneof.options, scope),
            )
            for oneof in message.oneofs
            if oneof.fields
        ]
        return ProtoMessage(
            message.name,
            fields=self._fields(message.fields, scope),
            oneofs=sorted(oneofs, key=lambda oneof: oneof.fields[0].tag),
            groups=self._groups(message.groups, scope),
            types=self._all_types(message.types, scope),
            options=self._options(message.options, scope),
            reserved=_split(message.reserved),
            extensions=_split(message.extensions),
            extends=self._extends(message.extends, scope),
        )

    def _enum(self, enum: ProtoEnum, scope: str) -> ProtoEnum:
        constants = [replace(each, options=self._options(each.options, scope)) for each in enum.constants]
        constants.sort(key=lambda constant: (constant.tag, constant.name))
        return ProtoEnum(enum.name, constants, self._options(enum.options, scope), _split(enum.reserved))

    def _fields(self, fields: Iterable[ProtoField], scope: str) -> list[ProtoField]:
        return sorted((self._field(field, scope) for field in fields), key=lambda field: field.tag)

    def _field(self, field: ProtoField, scope: str) -> ProtoField:
        made = replace(field, options=self._options(field.options, scope))
        types = self._types.map_types(field.type, scope)
        if types is not None:
            key, value = types
            found = None if value in SCALARS else self._types.find(value, scope)
            made.type = f"map<{key}, {value if found is None else '.' + found.name}>"
            made.label = ""
        elif field.type not in SCALARS:
            made.type = self._name(field.type, scope)
        return made

    def _groups(self, groups: Iterable[ProtoGroup], scope: str) -> list[ProtoGroup]:
        made = [replace(group, fields=self._fields(group.fields, scope)) for group in groups]
        return sorted(made, key=lambda group: group.tag)

    def _extends(self, extends: Iterable[ProtoExtend], scope: str) -> list[ProtoExtend]:
        fields: dict[str, list[ProtoField]] = {}
        for extend in extends:
            fields.setdefault(self._name(extend.name, scope), []).extend(extend.fields)
        return [ProtoExtend(name, self._fields(each, scope)) for name, each in fields.items()]

    def _service(self, service: ProtoService, scope: str) -> ProtoService:
        rpcs = [self._rpc(rpc, scope) for rpc in service.rpcs]
        return ProtoService(service.name, rpcs, self._options(service.options, scope))

    def _rpc(self, rpc: ProtoRpc, scope: str) -> ProtoRpc:
        request, response = self._name(rpc.request, scope), self._name(rpc.response, scope)
        return replace(rpc, request=request, response=response, options=self._options(rpc.options, scope))

    def _name(self, name: str, scope: str) -> str:
        found = self._types.find(name, scope)
        if found is None:
            raise InvalidSchema(f'The type "{name[:200]}" is not defined.')
        return f".{found.name}"

    def _options(self, options: Iterable[ProtoOption], scope: str) -> list[ProtoOption]:
        """Return options by their names, the parts of one custom option as one."""
        made: list[ProtoOption] = []
        for option in sorted((self._option(each, scope) for each in options), key=lambda each: each.name):
            if made and option.is_custom and made[-1][:2] == option[:2] == (option.name, OptionKind.MAP):
                made[-1] = option._replace(value=_merged(made[-1].value, option.value))
            else:
                made.append(option)
        return made

    def _option(self, option: ProtoOption, scope: str) -> ProtoOption:
        if not option.is_custom:
            return option._replace(value=_with_numbers(option.kind, option.value))
        name = self._types.extension(option.name, scope) or option.name
        kind, value = option.kind, option.value
        if kind is OptionKind.NESTED:
            kind, value = OptionKind.MAP, _as_map(value)
        return ProtoOption(name, kind, _with_numbers(kind, value), True)


def _split(reserved: Iterable[ProtoReserved]) -> list[ProtoReserved]:
    """Return each value by itself, in order; a range of one number is a number."""
    values = [(value, each.options) for each in reserved for value in each.values]
    made = [
        ProtoReserved([value.first if isinstance(value, ProtoRange) and value.first == value.last else value], options)
        for value, options in values
    ]
    return sorted(made, key=_reserved_key)


def _reserved_key(reserved: ProtoReserved) -> tuple[bool, int, str]:
    value = reserved.values[0]
    if isinstance(value, str):
        return True, 0, value
    return (
        (False, value.first, f"{value.first}..{value.last}")
        if isinstance(value, ProtoRange)
        else (False, value, str(value))
    )


def _as_map(option: ProtoOption) -> dict[str, Any]:
    if option.kind is OptionKind.NESTED:
        return {option.name: _as_map(option.value)}
    is_plain = option.kind in (OptionKind.MAP, OptionKind.LIST)
    return {option.name: option.value if is_plain else ProtoValue(option.kind, str(option.value))}


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    for key, value in second.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[key] = _merged(known, value)
        elif known is None:
            merged[key] = value
        else:
            values = [
                *(known if isinstance(known, list) else [known]),
                *(value if isinstance(value, list) else [value]),
            ]
            merged[key] = [each for position, each in enumerate(values) if each not in values[:position]]
    return merged


def _with_numbers(kind: OptionKind, value: Any) -> Any:
    """Return a value with its numbers written alike, keys in order, and a list of one as that one."""
    if isinstance(value, dict):
        kept = ((key, each) for key, each in sorted(value.items()) if each != [])
        return {key: _with_numbers(kind, _only(each)) for key, each in kept}
    if isinstance(value, list):
        return [_with_numbers(kind, each) for each in value]
    if isinstance(value, ProtoValue):
        return ProtoValue(value.kind, _with_numbers(value.kind, value.text))
    return _number(value) if kind is OptionKind.NUMBER else value


def _only(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _number(text: str) -> str:
    """Return a number as Java's DecimalFormat writes it: without a trailing zero, and with three decimals at most."""
    try:
        number = Decimal(int(text, 16)) if "x" in text.lower() else Decimal(text)
        if abs(number.adjusted()) > _MAX_DIGITS:
            return text
        rounded = number.quantize(_THOUSANDTHS, ROUND_HALF_EVEN) if number != number.to_integral_value() else number
        short = f"{rounded:f}"
    except (InvalidOperation, ValueError):
        return text
    return short.rstrip("0").rstrip(".") if "." in short else short
