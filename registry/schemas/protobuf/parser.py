"""From a .proto text to what it declares: proto2 and proto3, as Confluent's registry reads them.

Editions are refused, as there. Messages are nested, and options within options, at most MAX_DEPTH deep (protoc: 32).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from barnabas.registry.schemas.parsed_schema import InvalidSchema
from barnabas.registry.schemas.protobuf.model import (
    MAX_TAG,
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
from barnabas.registry.schemas.protobuf.reader import ProtoReader

MAX_DEPTH = 64
_LABELS = ("required", "optional", "repeated")


def parse(text: str) -> ProtoFile:
    """Return the file that a text is; InvalidSchema if it is none."""
    return _ProtoParser(ProtoReader(text)).file()


class _ProtoParser:
    """A reader, and how deep it is in messages and options."""

    def __init__(self, reader: ProtoReader) -> None:
        self._reader = reader
        self._depth = 0
        self._file = ProtoFile()

    def file(self) -> ProtoFile:
        reader, file = self._reader, self._file
        declarations: dict[str, Callable[[], object]] = {
            "package": self._package,
            "import": self._import,
            "option": lambda: file.options.append(self._option_declaration()),
            "message": lambda: file.types.append(self._message()),
            "enum": lambda: file.types.append(self._enum()),
            "service": lambda: file.services.append(self._service()),
            "extend": lambda: file.extends.append(self._extend()),
        }
        is_first = True
        while reader.peek():
            if not reader.takes(";"):
                word = reader.word()
                if word == "syntax" and is_first:
                    self._syntax()
                elif word in declarations:
                    declarations[word]()
                else:
                    raise self._unexpected(word)
            is_first = False
        return file

    def _unexpected(self, word: str) -> InvalidSchema:
        if word == "edition":
            return InvalidSchema("Editions are not supported: a file has the syntax proto2 or proto3.")
        return self._reader.error(f"unexpected {word[:40]}")

    def _syntax(self) -> None:
        self._reader.require("=")
        self._file.syntax = self._reader.quoted()
        if self._file.syntax not in ("proto2", "proto3"):
            raise self._reader.error(f"the syntax {self._file.syntax[:40]!r} is unknown")
        self._reader.require(";")

    def _package(self) -> None:
        self._file.package = self._reader.word()
        self._reader.require(";")

    def _import(self) -> None:
        imports = self._file.imports
        if self._reader.peek() not in ("'", '"'):
            kind = self._reader.word()
            if kind not in ("public", "weak"):
                raise self._unexpected(kind)
            imports = self._file.public_imports if kind == "public" else self._file.weak_imports
        imports.append(self._reader.quoted())
        self._reader.require(";")

    def _message(self) -> ProtoMessage:
        reader = self._reader
        message = ProtoMessage(reader.word())
        reader.require("{")
        self._enter()
        declarations: dict[str, Callable[[], object]] = {
            "option": lambda: message.options.append(self._option_declaration()),
            "reserved": lambda: message.reserved.append(self._reserved()),
            "extensions": lambda: message.extensions.append(self._reserved()),
            "message": lambda: message.types.append(self._message()),
            "enum": lambda: message.types.append(self._enum()),
            "extend": lambda: message.extends.append(self._extend()),
            "oneof": lambda: message.oneofs.append(self._oneof()),
        }
        for _ in self._statements():
            word = reader.word()
            if word in declarations:
                declarations[word]()
                continue
            field = self._field(word)
            if isinstance(field, ProtoGroup):
                message.groups.append(field)
            else:
                message.fields.append(field)
        self._depth -= 1
        return message

    def _statements(self) -> Iterator[None]:
        """Stand before each statement up to the closing brace, but for empty ones."""
        while not self._reader.takes("}"):
            if not self._reader.takes(";"):
                yield

    def _extend(self) -> ProtoExtend:
        extend = ProtoExtend(self._reader.word())
        self._reader.require("{")
        for _ in self._statements():
            field = self._field(self._reader.word())
            if isinstance(field, ProtoField):
                extend.fields.append(field)
        return extend

    def _field(self, word: str) -> ProtoField | ProtoGroup:
        label = word if word in _LABELS else ""
        type_ = self._reader.data_type("" if label else word)
        if label == "required" and self._file.syntax == "proto3":
            raise self._reader.error("proto3 has no required fields")
        if not label and self._file.syntax != "proto3" and not type_.startswith("map<"):
            raise self._reader.error(f"a field of proto2 needs a label, and {word[:40]} is none")
        if label and type_.startswith("map<"):
            raise self._reader.error("a map has no label")
        return self._group(label) if type_ == "group" else self._rest_of_field(type_, label)

    def _rest_of_field(self, type_: str, label: str) -> ProtoField:
        reader = self._reader
        name = reader.word()
        if name[0].isdigit():
            raise reader.error(f"the name {name[:40]} begins with a digit")
        reader.require("=")
        field = ProtoField(name, type_, reader.integer(), label)
        for option in self._options():
            if option.name == "default" and not option.is_custom:
                field.default = str(option.value)
            elif option.name == "json_name" and not option.is_custom:
                field.json_name = str(option.value)
            else:
                field.options.append(option)
        reader.require(";")
        return field

    def _group(self, label: str) -> ProtoGroup:
        reader = self._reader
        name = reader.word()
        reader.require("=")
        group = ProtoGroup(name, reader.integer(), label, [])
        reader.require("{")
        while not reader.takes("}"):
            field = self._field(reader.word())
            if isinstance(field, ProtoGroup):
                raise reader.error("a group has no groups")
            group.fields.append(field)
        return group

    def _oneof(self) -> ProtoOneOf:
        reader = self._reader
        oneof = ProtoOneOf(reader.word())
        reader.require("{")
        for _ in self._statements():
            word = reader.data_type()
            if word == "option":
                oneof.options.append(self._option_declaration())
            elif word == "group":
                oneof.groups.append(self._group(""))
            else:
                oneof.fields.append(self._rest_of_field(word, ""))
        return oneof

    def _enum(self) -> ProtoEnum:
        reader = self._reader
        enum = ProtoEnum(reader.word())
        reader.require("{")
        for _ in self._statements():
            word = reader.word()
            if word == "option":
                enum.options.append(self._option_declaration())
            elif word == "reserved":
                enum.reserved.append(self._reserved())
            else:
                if word[0].isdigit():
                    raise reader.error(f"the name {word[:40]} begins with a digit")
                reader.require("=")
                enum.constants.append(ProtoConstant(word, reader.integer(), self._options()))
                reader.require(";")
        return enum

    def _reserved(self) -> ProtoReserved:
        reader = self._reader
        reserved = ProtoReserved([])
        while True:
            if reader.peek() in ("'", '"'):
                reserved.values.append(reader.quoted())
            else:
                reserved.values.append(self._number_or_range())
            if reader.peek() == "[":
                reserved.options = self._options()
            if reader.require(",;") == ";":
                return reserved

    def _number_or_range(self) -> int | ProtoRange:
        reader = self._reader
        first = reader.integer()
        if reader.peek() in (",", ";", "["):
            return first
        if reader.word() != "to":
            raise reader.error('a range is written with "to"')
        if reader.peek() == "m":
            if reader.word() != "max":
                raise reader.error("a range ends with a number or max")
            return ProtoRange(first, MAX_TAG)
        return ProtoRange(first, reader.integer())

    def _service(self) -> ProtoService:
        reader = self._reader
        service = ProtoService(reader.word())
        reader.require("{")
        for _ in self._statements():
            word = reader.word()
            if word == "option":
                service.options.append(self._option_declaration())
            elif word == "rpc":
                service.rpcs.append(self._rpc())
            else:
                raise self._unexpected(word)
        return service

    def _rpc(self) -> ProtoRpc:
        reader = self._reader
        name = reader.word()
        request, streams_requests = self._parameter()
        if reader.word() != "returns":
            raise reader.error("an rpc needs returns")
        response, streams_responses = self._parameter()
        rpc = ProtoRpc(name, request, response, streams_requests, streams_responses)
        if not reader.takes("{"):
            reader.require(";")
            return rpc
        for _ in self._statements():
            word = reader.word()
            if word != "option":
                raise self._unexpected(word)
            rpc.options.append(self._option_declaration())
        return rpc

    def _parameter(self) -> tuple[str, bool]:
        self._reader.require("(")
        word = self._reader.word()
        streams = word == "stream" and self._reader.peek() != ")"
        type_ = self._reader.word() if streams else word
        self._reader.require(")")
        return type_, streams

    def _option_declaration(self) -> ProtoOption:
        option = self._option("=")
        self._reader.require(";")
        return option

    def _options(self) -> list[ProtoOption]:
        options: list[ProtoOption] = []
        if self._reader.takes("["):
            while True:
                options.append(self._option("="))
                if self._reader.require(",]") == "]":
                    break
        return options

    def _option(self, separator: str) -> ProtoOption:
        """Take an option: its name, whose parts may be extensions, a separator and a value."""
        reader = self._reader
        name, is_custom = self._option_name(with_dots=True)
        parts = []
        while reader.takes("."):
            parts.append(self._option_name(with_dots=False))
        if len(parts) > MAX_DEPTH:
            raise reader.error(f"an option is nested deeper than {MAX_DEPTH} levels")
        if separator == "=" or reader.peek() != "{":
            reader.require(separator)
        kind, value = self._value()
        for part, is_extension in reversed(parts):
            value, kind = ProtoOption(part, kind, value, is_extension), OptionKind.NESTED
        return ProtoOption(name, kind, value, is_custom)

    def _option_name(self, *, with_dots: bool) -> tuple[str, bool]:
        reader = self._reader
        if reader.takes("("):
            name = reader.word()
            reader.require(")")
            return name, True
        if reader.takes("["):
            name = reader.word()
            reader.require("]")
            return f"[{name}]", False
        return reader.word(with_dots=with_dots), False

    def _value(self) -> tuple[OptionKind, Any]:
        character = self._reader.peek()
        if character == "{":
            return OptionKind.MAP, self._map()
        if character == "[":
            return OptionKind.LIST, self._list()
        if character in ("'", '"'):
            return OptionKind.STRING, self._reader.quoted()
        word = self._reader.word()
        is_number = word[0].isdigit() or word[0] == "-"
        return (OptionKind.NUMBER if is_number else OptionKind.WORD), word

    def _map(self) -> dict[str, Any]:
        reader = self._reader
        reader.require("{")
        self._enter()
        entries: dict[str, Any] = {}
        while not reader.takes("}"):
            option = self._option(":")
            if option.kind is OptionKind.NESTED:
                inner = option.value
                nested = entries.setdefault(option.name, {})
                if not isinstance(nested, dict):
                    raise reader.error(f"{option.name[:40]} is no message")
                nested[inner.name] = _as_value(inner.kind, inner.value)
            else:
                _merge(entries, option.name, _as_value(option.kind, option.value))
            if reader.peek() in (",", ";"):
                reader.require(",;")
        self._depth -= 1
        return entries

    def _list(self) -> list[Any]:
        reader = self._reader
        reader.require("[")
        self._enter()
        values: list[Any] = []
        while not reader.takes("]"):
            values.append(_as_value(*self._value()))
            if reader.peek() != "]":
                reader.require(",")
        self._depth -= 1
        return values

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._reader.error(f"nested deeper than {MAX_DEPTH} levels")


def _as_value(kind: OptionKind, value: Any) -> Any:
    """Return a value within a map or list: these as they are, all else with its kind."""
    return value if kind in (OptionKind.MAP, OptionKind.LIST) else ProtoValue(kind, str(value))


def _merge(entries: dict[str, Any], name: str, value: Any) -> None:
    """Add a value: one name several times is a list."""
    if name not in entries:
        entries[name] = value
        return
    if not isinstance(entries[name], list):
        entries[name] = [entries[name]]
    entries[name] += value if isinstance(value, list) else [value]
