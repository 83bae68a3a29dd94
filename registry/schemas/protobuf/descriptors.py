"""A file as a FileDescriptorProto in base64, the form in which some clients register it and ask for it.

google/protobuf/descriptor.proto defines the fields. Custom options are left out: they are extensions, whose encoding
only a descriptor pool knows.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence

from barnabas.registry.schemas.protobuf import wire_format
from barnabas.registry.schemas.protobuf.model import (
    OptionKind,
    ProtoConstant,
    ProtoEnum,
    ProtoExtend,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoOneOf,
    ProtoOption,
    ProtoRange,
    ProtoReserved,
    ProtoRpc,
    ProtoService,
)
from barnabas.registry.schemas.protobuf.types import ProtoTypes, within
from barnabas.registry.schemas.protobuf.wire_format import Fields, encode, integer, integers, messages, text, texts

FIELD_TYPES = {
    "double": 1,
    "float": 2,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "fixed64": 6,
    "fixed32": 7,
    "bool": 8,
    "string": 9,
    "bytes": 12,
    "uint32": 13,
    "sfixed32": 15,
    "sfixed64": 16,
    "sint32": 17,
    "sint64": 18,
}
_TYPE_NAMES = {number: name for name, number in FIELD_TYPES.items()}
_MESSAGE, _ENUM = 11, 14
LABELS = {"optional": 1, "required": 2, "repeated": 3}
_MAX_DEPTH = 64

# The options that descriptors have fields for: number, and the names of an enum's values, None for a text.
_Known = dict[str, tuple[int, Sequence[str] | None]]
_BOOLEAN = ("false", "true")
FILE_OPTIONS: _Known = {
    "java_package": (1, None),
    "java_outer_classname": (8, None),
    "java_multiple_files": (10, _BOOLEAN),
    "java_generate_equals_and_hash": (20, _BOOLEAN),
    "java_string_check_utf8": (27, _BOOLEAN),
    "optimize_for": (9, ("", "SPEED", "CODE_SIZE", "LITE_RUNTIME")),
    "go_package": (11, None),
    "cc_generic_services": (16, _BOOLEAN),
    "java_generic_services": (17, _BOOLEAN),
    "py_generic_services": (18, _BOOLEAN),
    "deprecated": (23, _BOOLEAN),
    "cc_enable_arenas": (31, _BOOLEAN),
    "objc_class_prefix": (36, None),
    "csharp_namespace": (37, None),
    "swift_prefix": (39, None),
    "php_class_prefix": (40, None),
    "php_namespace": (41, None),
    "php_metadata_namespace": (44, None),
    "ruby_package": (45, None),
}
MESSAGE_OPTIONS: _Known = {
    "no_standard_descriptor_accessor": (2, _BOOLEAN),
    "deprecated": (3, _BOOLEAN),
    "map_entry": (7, _BOOLEAN),
}
FIELD_OPTIONS: _Known = {
    "ctype": (1, ("STRING", "CORD", "STRING_PIECE")),
    "packed": (2, _BOOLEAN),
    "jstype": (6, ("JS_NORMAL", "JS_STRING", "JS_NUMBER")),
    "deprecated": (3, _BOOLEAN),
    "debug_redact": (16, _BOOLEAN),
}
ENUM_OPTIONS: _Known = {"allow_alias": (2, _BOOLEAN), "deprecated": (3, _BOOLEAN)}
CONSTANT_OPTIONS: _Known = {"deprecated": (1, _BOOLEAN), "debug_redact": (3, _BOOLEAN)}
SERVICE_OPTIONS: _Known = {"deprecated": (33, _BOOLEAN)}
METHOD_OPTIONS: _Known = {
    "deprecated": (33, _BOOLEAN),
    "idempotency_level": (34, ("IDEMPOTENCY_UNKNOWN", "NO_SIDE_EFFECTS", "IDEMPOTENT")),
}


def decode(encoded: str) -> ProtoFile:
    """Return the file that a descriptor in base64 describes; ValueError if it is none."""
    fields = wire_format.decode(b64decode("".join(encoded.split()), validate=True))
    syntax = text(fields, 12)
    if not set(fields) <= {*range(1, 13)} or not texts(fields, 1):
        raise ValueError("this is no descriptor of a file with the syntax proto2 or proto3")
    imports = texts(fields, 3)
    public, weak = set(integers(fields, 10)), set(integers(fields, 11))
    return ProtoFile(
        syntax=syntax,
        package=text(fields, 2),
        imports=[path for position, path in enumerate(imports) if position not in public | weak],
        public_imports=[path for position, path in enumerate(imports) if position in public],
        weak_imports=[path for position, path in enumerate(imports) if position in weak - public],
        types=[*_decoded_messages(fields, 4, syntax), *map(_decoded_enum, messages(fields, 5))],
        services=[_decoded_service(each) for each in messages(fields, 6)],
        extends=_decoded_extends(messages(fields, 7), syntax),
        options=_decoded_options(fields, 8, FILE_OPTIONS),
    )


def serialized(types: ProtoTypes) -> str:
    """Return the descriptor of a file in base64."""
    return b64encode(_Encoder(types).file()).decode()


def _decoded_messages(fields: Fields, number: int, syntax: str, depth: int = 0) -> Iterator[ProtoMessage]:
    if depth > _MAX_DEPTH:
        raise ValueError("messages are nested too deeply")
    for each in messages(fields, number):
        oneofs = [ProtoOneOf(text(oneof, 1)) for oneof in messages(each, 8)]
        message = ProtoMessage(text(each, 1), options=_decoded_options(each, 7, MESSAGE_OPTIONS))
        for field in messages(each, 2):
            if 9 in field and not integer(field, 17):
                oneofs[integer(field, 9)].fields.append(_decoded_field(field, syntax, in_oneof=True))
            else:
                message.fields.append(_decoded_field(field, syntax))
        message.oneofs = [oneof for oneof in oneofs if oneof.fields]
        message.types = [*_decoded_messages(each, 3, syntax, depth + 1), *map(_decoded_enum, messages(each, 4))]
        message.reserved = [*_ranges(messages(each, 9)), *(ProtoReserved([name]) for name in texts(each, 10))]
        message.extensions = list(_ranges(messages(each, 5)))
        message.extends = _decoded_extends(messages(each, 6), syntax)
        yield message


def _decoded_field(field: Fields, syntax: str, *, in_oneof: bool = False) -> ProtoField:
    label = {number: name for name, number in LABELS.items()}.get(integer(field, 4), "optional")
    if in_oneof or (syntax == "proto3" and label != "repeated" and not integer(field, 17)):
        label = ""
    type_ = text(field, 6) or _TYPE_NAMES.get(integer(field, 5), "")
    if not type_:
        raise ValueError("a field has no type")
    return ProtoField(
        text(field, 1),
        type_,
        integer(field, 3),
        label,
        text(field, 7) if 7 in field and syntax != "proto3" else None,
        text(field, 10) if 10 in field else None,
        _decoded_options(field, 8, FIELD_OPTIONS),
    )


def _decoded_extends(fields: Iterable[Fields], syntax: str) -> list[ProtoExtend]:
    extends: dict[str, ProtoExtend] = {}
    for field in fields:
        extendee = text(field, 2)
        extends.setdefault(extendee, ProtoExtend(extendee)).fields.append(_decoded_field(field, syntax))
    return list(extends.values())


def _decoded_enum(fields: Fields) -> ProtoEnum:
    constants = [
        ProtoConstant(text(each, 1), integer(each, 2), _decoded_options(each, 3, CONSTANT_OPTIONS))
        for each in messages(fields, 2)
    ]
    reserved = [*_ranges(messages(fields, 4), after_last=0), *(ProtoReserved([name]) for name in texts(fields, 5))]
    return ProtoEnum(text(fields, 1), constants, _decoded_options(fields, 3, ENUM_OPTIONS), reserved)


def _decoded_service(fields: Fields) -> ProtoService:
    rpcs = [
        ProtoRpc(
            text(each, 1),
            text(each, 2),
            text(each, 3),
            bool(integer(each, 5)),
            bool(integer(each, 6)),
            _decoded_options(each, 4, METHOD_OPTIONS),
        )
        for each in messages(fields, 2)
    ]
    return ProtoService(text(fields, 1), rpcs, _decoded_options(fields, 3, SERVICE_OPTIONS))


def _ranges(ranges: Iterable[Fields], after_last: int = 1) -> Iterator[ProtoReserved]:
    """Return ranges of numbers; after_last: how far their end is behind the last of them."""
    for each in ranges:
        first, last = integer(each, 1), integer(each, 2) - after_last
        yield ProtoReserved([first if first == last else ProtoRange(first, last)])


def _decoded_options(fields: Fields, number: int, known: _Known) -> list[ProtoOption]:
    options: list[ProtoOption] = []
    for values in messages(fields, number)[-1:]:
        for name, (position, names) in known.items():
            if position not in values:
                continue
            if names is None:
                options.append(ProtoOption(name, OptionKind.STRING, text(values, position)))
            elif 0 <= integer(values, position) < len(names):
                options.append(ProtoOption(name, OptionKind.WORD, names[integer(values, position)]))
    return options


class _Encoder:
    """The names of a file in full, as descriptors have them."""

    def __init__(self, types: ProtoTypes) -> None:
        self._types = types

    def file(self) -> bytes:
        file = self._types.root
        parts = [encode(1, "default")]
        parts += [encode(2, file.package)] if file.package else []
        parts += [encode(3, path) for path in file.all_imports]
        for type_ in file.types:
            is_message = isinstance(type_, ProtoMessage)
            parts.append(encode(4 if is_message else 5, self._type(type_, file.package)))
        parts += [encode(6, self._service(service, file.package)) for service in file.services]
        parts += [encode(7, each) for each in self._extends(file.extends, file.package)]
        parts += _encoded_options(8, file.options, FILE_OPTIONS)
        first_public, first_weak = len(file.imports), len(file.imports) + len(file.public_imports)
        parts += [encode(10, first_public + position) for position in range(len(file.public_imports))]
        parts += [encode(11, first_weak + position) for position in range(len(file.weak_imports))]
        parts += [encode(12, file.syntax)] if file.syntax else []
        return b"".join(parts)

    def _type(self, type_: ProtoMessage | ProtoEnum, scope: str) -> bytes:
        return self._message(type_, within(scope, type_.name)) if isinstance(type_, ProtoMessage) else _enum(type_)

    def _message(self, message: ProtoMessage, scope: str) -> bytes:
        parts = [encode(1, message.name)]
        oneofs = [oneof.name for oneof in message.oneofs]
        for field in message.fields:
            in_oneof = None
            if self._types.root.syntax == "proto3" and field.label == "optional":
                in_oneof = len(oneofs)
                oneofs.append(f"_{field.name}")
            parts.append(encode(2, self._field(field, scope, in_oneof, is_optional=in_oneof is not None)))
        for position, oneof in enumerate(message.oneofs):
            parts += [encode(2, self._field(field, scope, position)) for field in oneof.fields]
        for field in message.all_fields:
            if field.map_types is not None:
                parts.append(encode(3, self._entry(field, scope)))
        for type_ in message.types:
            parts.append(encode(3 if isinstance(type_, ProtoMessage) else 4, self._type(type_, scope)))
        parts += [encode(5, each) for each in _encoded_ranges(message.extensions)]
        parts += [encode(6, each) for each in self._extends(message.extends, scope)]
        parts += _encoded_options(7, message.options, MESSAGE_OPTIONS)
        parts += [encode(8, encode(1, name)) for name in oneofs]
        parts += [encode(9, each) for each in _encoded_ranges(message.reserved)]
        parts += [encode(10, name) for name in _names(message.reserved)]
        return b"".join(parts)

    def _entry(self, field: ProtoField, scope: str) -> bytes:
        key, value = field.map_types or ("", "")
        fields = (ProtoField("key", key, 1), ProtoField("value", value, 2))
        parts = [encode(1, entry_name(field.name)), *(encode(2, self._field(each, scope)) for each in fields)]
        return b"".join((*parts, encode(7, encode(7, 1))))

    def _field(self, field: ProtoField, scope: str, in_oneof: int | None = None, *, is_optional: bool = False) -> bytes:
        is_map = field.map_types is not None
        label = LABELS["repeated"] if is_map else LABELS[field.label or "optional"]
        parts = [encode(1, field.name), encode(3, field.tag), encode(4, label)]
        if is_map:
            parts += [encode(5, _MESSAGE), encode(6, f".{scope}.{entry_name(field.name)}")]
        elif field.type in FIELD_TYPES:
            parts.append(encode(5, FIELD_TYPES[field.type]))
        else:
            found = self._types.find(field.type, scope)
            is_enum = found is not None and isinstance(found.element, ProtoEnum)
            parts += [encode(5, _ENUM if is_enum else _MESSAGE), encode(6, self._name(field.type, scope))]
        parts += [encode(7, field.default)] if field.default is not None else []
        parts += _encoded_options(8, field.options, FIELD_OPTIONS)
        parts += [encode(9, in_oneof)] if in_oneof is not None else []
        parts += [encode(10, field.json_name)] if field.json_name is not None else []
        parts += [encode(17, 1)] if is_optional else []
        return b"".join(parts)

    def _extends(self, extends: Iterable[ProtoExtend], scope: str) -> Iterator[bytes]:
        for extend in extends:
            for field in extend.fields:
                yield self._field(field, scope) + encode(2, self._name(extend.name, scope))

    def _service(self, service: ProtoService, scope: str) -> bytes:
        parts = [encode(1, service.name)]
        for rpc in service.rpcs:
            method = [encode(1, rpc.name)]
            method += [encode(2, self._name(rpc.request, scope)), encode(3, self._name(rpc.response, scope))]
            method += _encoded_options(4, rpc.options, METHOD_OPTIONS)
            method += [encode(5, 1)] if rpc.streams_requests else []
            method += [encode(6, 1)] if rpc.streams_responses else []
            parts.append(encode(2, b"".join(method)))
        return b"".join((*parts, *_encoded_options(3, service.options, SERVICE_OPTIONS)))

    def _name(self, name: str, scope: str) -> str:
        found = self._types.find(name, scope)
        return name if found is None else f".{found.name}"


def entry_name(field_name: str) -> str:
    """Return the name of the message for the entries of a map, as protoc makes it."""
    return "".join(part[:1].upper() + part[1:] for part in field_name.split("_")) + "Entry"


def _enum(enum: ProtoEnum) -> bytes:
    parts = [encode(1, enum.name)]
    for constant in enum.constants:
        options = _encoded_options(3, constant.options, CONSTANT_OPTIONS)
        parts.append(encode(2, b"".join((encode(1, constant.name), encode(2, constant.tag), *options))))
    parts += _encoded_options(3, enum.options, ENUM_OPTIONS)
    parts += [encode(4, each) for each in _encoded_ranges(enum.reserved, after_last=0)]
    return b"".join((*parts, *(encode(5, name) for name in _names(enum.reserved))))


def _encoded_ranges(reserved: Iterable[ProtoReserved], after_last: int = 1) -> Iterator[bytes]:
    for value in (value for each in reserved for value in each.values):
        if not isinstance(value, str):
            first, last = value if isinstance(value, ProtoRange) else (value, value)
            yield encode(1, first) + encode(2, last + after_last)


def _names(reserved: Iterable[ProtoReserved]) -> list[str]:
    return [value for each in reserved for value in each.values if isinstance(value, str)]


def _encoded_options(number: int, options: Iterable[ProtoOption], known: _Known) -> list[bytes]:
    """Return the field of the options that descriptors know; nothing if there are none."""
    encoded = []
    for option in options:
        if option.is_custom or option.name not in known:
            continue
        position, names = known[option.name]
        if names is None:
            encoded.append(encode(position, str(option.value)))
        elif option.value in names:
            encoded.append(encode(position, names.index(option.value)))
    return [encode(number, b"".join(encoded))] if encoded else []
