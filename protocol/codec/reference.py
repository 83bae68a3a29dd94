"""Encoding and decoding by walking the schema, field by field: slow, and simple enough to be trusted.

The tests compare the compiled codecs with it. Nothing else uses it. Decoding trusts its input to be well-formed where
the compiled decoder must not: broken bytes may raise any exception.
"""

from struct import Struct as Layout
from typing import Any, TypeVar

from barnabas.protocol.codec.schema import FieldType, Struct, default_instance
from barnabas.protocol.errors import EncodeError, FieldNotInVersion
from barnabas.protocol.primitives import Buffer, read_uvarint, uvarint

M = TypeVar("M", bound=Struct)


def encode(message: Struct, version: int) -> bytes:
    return _Walk(version, message.__schema__.is_flexible(version)).encode_struct(message)


def decode(struct: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    walk = _Walk(version, struct.__schema__.is_flexible(version), buffer, position)
    return walk.decode_struct(struct), walk.position


class _Walk:
    def __init__(self, version: int, flexible: bool, buffer: Buffer = b"", position: int = 0) -> None:
        self.version, self.flexible, self.buffer, self.position = version, flexible, buffer, position

    # --- encoding ---

    def encode_struct(self, message: Struct) -> bytes:
        body, tags = b"", dict(getattr(message, "unknown_tags", ()))
        for field in message.__schema__.fields:
            value = getattr(message, field.name)
            is_default = value == field.default_value() or (field.may_be_unset and value == _unset(field.type))
            if not field.in_version(self.version):
                if not is_default and not field.ignorable:
                    raise FieldNotInVersion(f"{field.name} is not in version {self.version}")
            elif not field.tagged_in(self.version):
                body += self.encode_value(field.type, value, field.nullable_in(self.version))
            elif not is_default:
                data = self.encode_value(field.type, value, field.nullable_in(self.version))
                tags[field.tag] = b"\0" if value is None and field.type.struct is not None else data
        if not self.flexible:
            return body
        return body + uvarint(len(tags)) + b"".join(uvarint(t) + uvarint(len(d)) + d for t, d in sorted(tags.items()))

    def encode_value(self, type: FieldType, value: Any, nullable: bool) -> bytes:
        if type.format is not None:
            return Layout(">" + type.format).pack(value)
        if value is None and not nullable:
            raise EncodeError("null where it may not be")
        if type.struct is not None:
            marker = b"" if not nullable else b"\xff" if value is None else b"\x01"
            return marker + (b"" if value is None else self.encode_struct(value))
        if type.element is not None:
            items = b"".join(self.encode_value(type.element, item, False) for item in value or ())
        else:
            items = value.encode() if isinstance(value, str) else bytes(value or b"")
        length = -1 if value is None else len(value) if type.element is not None else len(items)
        return (uvarint(length + 1) if self.flexible else Layout(_prefix(type)).pack(length)) + items

    # --- decoding ---

    def take(self, size: int) -> Buffer:
        self.position += size
        return self.buffer[self.position - size : self.position]

    def uvarint(self) -> int:
        value, self.position = read_uvarint(self.buffer, self.position)
        return value

    def decode_struct(self, struct: type[M]) -> M:
        message = struct.__new__(struct)
        fields = struct.__schema__.fields
        for field in fields:
            if field.in_version(self.version) and not field.tagged_in(self.version):
                value = self.decode_value(field.type, field.nullable_in(self.version))
            else:
                value = field.default_value()
            setattr(message, field.name, value)
        known = {field.tag: field for field in fields if field.tagged_in(self.version)}
        unknown = []
        for _ in range(self.uvarint() if self.flexible else 0):
            tag, size = self.uvarint(), self.uvarint()
            if tag in known:
                nullable = known[tag].nullable_in(self.version)
                setattr(message, known[tag].name, self.decode_value(known[tag].type, nullable))
            else:
                unknown.append((tag, bytes(self.take(size))))
        if struct.__schema__.keeps_unknown_tags:
            message.unknown_tags = tuple(unknown)  # type: ignore[attr-defined]  # because only a Stored keeps them
        return message

    def decode_value(self, type: FieldType, nullable: bool) -> Any:
        if type.format is not None:
            layout = Layout(">" + type.format)
            return layout.unpack(self.take(layout.size))[0]
        if type.struct is not None:
            is_null = nullable and self.take(1)[0] != 1
            return None if is_null else self.decode_struct(type.struct)
        prefix = Layout(_prefix(type))
        length = self.uvarint() - 1 if self.flexible else prefix.unpack(self.take(prefix.size))[0]
        if length < 0:
            return None
        if type.element is not None:
            return [self.decode_value(type.element, False) for _ in range(length)]
        data = self.take(length)
        return str(data, "utf-8") if type.name == "string" else data if type.name == "records" else bytes(data)


def _unset(type: FieldType) -> Any:
    return default_instance(type.struct) if type.struct is not None else None


def _prefix(type: FieldType) -> str:
    return ">h" if type.name == "string" else ">i"
