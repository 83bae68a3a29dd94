"""A .proto file as text, as Confluent's registry prints it: the parts of a message by their kind, without comments.

An empty line parts the kinds; within a message that is itself within another it has the indentation of its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from barnabas.registry.schemas.protobuf.model import (
    MAX_TAG,
    SCALARS,
    OptionKind,
    ProtoConstant,
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

_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        "'": "\\'",
        '"': '\\"',
    }
)
_Lines = list[str]


def text_of(file: ProtoFile) -> str:
    """Return the text of a file."""
    head = f'syntax = "{file.syntax}";\n' if file.syntax else ""
    head += f"package {file.package};\n" if file.package else ""
    imports = [f'import "{path}";' for path in file.imports]
    imports += [f'import public "{path}";' for path in file.public_imports]
    sections = (
        imports,
        _option_lines(file.options),
        _type_lines(file.types),
        [line for extend in file.extends for line in _extend(extend)],
        [line for service in file.services for line in _service(service)],
    )
    return head + "".join("\n" + "\n".join(section) + "\n" for section in sections if section)


def _type_lines(types: Iterable[ProtoMessage | ProtoEnum]) -> _Lines:
    """Return the lines of types: messages first, then enums."""
    lines: _Lines = []
    enums: _Lines = []
    for type_ in types:
        if isinstance(type_, ProtoMessage):
            lines += _message(type_)
        else:
            enums += _enum(type_)
    return lines + enums


def _message(message: ProtoMessage) -> _Lines:
    return _block(
        f"message {message.name}",
        [_reserved("reserved", each) for each in message.reserved],
        _option_lines(message.options),
        [line for field in message.fields for line in _field(field)],
        [line for oneof in message.oneofs for line in _oneof(oneof)],
        [line for group in message.groups for line in _group(group)],
        [line for each in message.extensions for line in _reserved("extensions", each).split("\n")],
        [line for extend in message.extends for line in _extend(extend)],
        _type_lines(message.types),
    )


def _enum(enum: ProtoEnum) -> _Lines:
    lines = [_reserved("reserved", each) for each in enum.reserved]
    lines += _option_lines(enum.options)
    for constant in enum.constants:
        lines += _constant(constant)
    return _block(f"enum {enum.name}", lines)


def _constant(constant: ProtoConstant) -> _Lines:
    return f"{constant.name} = {constant.tag}{_options(constant.options)};".split("\n")


def _oneof(oneof: ProtoOneOf) -> _Lines:
    return _block(
        f"oneof {oneof.name}",
        _option_lines(oneof.options),
        [line for field in oneof.fields for line in _field(field)],
        [line for group in oneof.groups for line in _group(group)],
    )


def _group(group: ProtoGroup) -> _Lines:
    label = f"{group.label} " if group.label else ""
    fields = [line for field in group.fields for line in _field(field)]
    return _block(f"{label}group {group.name} = {group.tag}", fields)


def _extend(extend: ProtoExtend) -> _Lines:
    return _block(f"extend {extend.name}", [line for field in extend.fields for line in _field(field)])


def _service(service: ProtoService) -> _Lines:
    rpcs = [line for rpc in service.rpcs for line in _rpc(rpc)]
    return _block(f"service {service.name}", _option_lines(service.options), rpcs)


def _rpc(rpc: ProtoRpc) -> _Lines:
    request = f"stream {rpc.request}" if rpc.streams_requests else rpc.request
    response = f"stream {rpc.response}" if rpc.streams_responses else rpc.response
    head = f"rpc {rpc.name} ({request}) returns ({response})"
    options = _option_lines(rpc.options)
    return [f"{head} {{", *_indented(options), "};"] if options else [f"{head};"]


def _block(head: str, *sections: _Lines) -> _Lines:
    """Return a block with the lines of its sections indented, and an empty line between two."""
    filled = [section for section in sections if section]
    if not filled:
        return [f"{head} {{}}"]
    lines = [f"{head} {{"]
    for position, section in enumerate(filled):
        if position:
            lines.append("")
        lines.extend(_indented(section))
    lines.append("}")
    return lines


def _field(field: ProtoField) -> _Lines:
    label = f"{field.label} " if field.label else ""
    options = list(field.options)
    if field.default is not None:
        options.append(ProtoOption("default", default_kind(field.type), field.default))
    if field.json_name is not None:
        options.append(ProtoOption("json_name", OptionKind.STRING, field.json_name))
    return f"{label}{field.type} {field.name} = {field.tag}{_options(options)};".split("\n")


def default_kind(type_: str) -> OptionKind:
    """Return how the default of a field is written, by its type."""
    if type_ == "string":
        return OptionKind.STRING
    return OptionKind.NUMBER if type_ in SCALARS and type_ != "bool" else OptionKind.WORD


def _reserved(keyword: str, reserved: ProtoReserved) -> str:
    values = ", ".join(_reserved_value(value) for value in reserved.values)
    return f"{keyword} {values}{_options(reserved.options)};"


def _reserved_value(value: str | int | ProtoRange) -> str:
    if isinstance(value, ProtoRange):
        return f"{value.first} to {'max' if value.last >= MAX_TAG else value.last}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _option_lines(options: Iterable[ProtoOption]) -> _Lines:
    return [line for option in options for line in f"option {_option(option)};".split("\n")]


def _options(options: list[ProtoOption]) -> str:
    """Return options in brackets, behind a space; nothing if there are none."""
    return f" {_bracketed([_option(option) for option in options])}" if options else ""


def _bracketed(texts: list[str]) -> str:
    """Return texts in brackets: one within the line, several on a line each."""
    if len(texts) == 1:
        return f"[{texts[0]}]"
    return "\n".join(("[", *_listed(texts), "]"))


def _option(option: ProtoOption) -> str:
    name = f"({option.name})" if option.is_custom else option.name
    if option.kind is OptionKind.NESTED:
        return f"{name}.{_option(option.value)}"
    if option.kind is OptionKind.MAP:
        return f"{name} = {_map(option.value)}"
    if option.kind is OptionKind.LIST:
        return f"{name} = {_bracketed([_value(each) for each in option.value])}"
    return f"{name} = {_scalar(option.kind, option.value)}"


def _value(value: Any) -> str:
    """Return a value within a map or list of an option."""
    if isinstance(value, dict):
        return _map(value)
    if isinstance(value, list):
        return "\n".join(("[", *_listed([_value(each) for each in value]), "]"))
    return _scalar(value.kind, value.text) if isinstance(value, ProtoValue) else str(value)


def _map(entries: dict[str, Any]) -> str:
    return "\n".join(("{", *_listed([f"{key}: {_value(value)}" for key, value in entries.items()]), "}"))


def _scalar(kind: OptionKind, value: Any) -> str:
    return f'"{str(value).translate(_ESCAPES)}"' if kind is OptionKind.STRING else str(value)


def _listed(texts: list[str]) -> Iterator[str]:
    """Return the lines of texts, indented, with a comma after each but the last."""
    for position, text in enumerate(texts, 1):
        yield from _indented((text if position == len(texts) else f"{text},").split("\n"))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
