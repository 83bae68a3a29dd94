"""The source of a decoder: bytes to a message, for one struct in one version.

The code is flat: nested structs are decoded in place, in loops, with local variables. `p` is the position, `size` the
end of the buffer. Two rules make any bytes safe: no slice is taken before its end is compared with `size`, and no loop
starts before the count is compared with Kafka's limit and, times the least size of an element, with the bytes left.
"""

from struct import error as struct_error
from struct import unpack_from
from typing import Any

from barnabas.protocol.codec.emit import FEW, Source, absent_fields, least_size, positional_fields, tagged_fields
from barnabas.protocol.codec.schema import MISSING, Field, FieldType, Struct, schema_of
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import (
    MAX_ARRAY_ELEMENTS,
    MAX_STRING_BYTES,
    Buffer,
    read_tag_count,
    read_uvarint,
    skip_tags,
    uvarint_tail,
)


def emit_decoder(
    struct: type[Struct], version: int, flexible: bool, *, pauses: bool = False
) -> tuple[str, dict[str, Any]]:
    """Return the source of `decode(buffer, position=0) -> (message, position)`, and the names it needs.

    pauses: a generator, which pauses after each element of an array and returns the same.
    """
    source = DecoderSource(version, flexible)
    source.pauses = pauses
    return source.function(struct)


class DecoderSource(Source):
    pauses = False

    def function(self, struct: type[Struct]) -> tuple[str, dict[str, Any]]:
        self.scope.update(_HELPERS)
        with self.block("def decode(buffer, position=0):"):
            self.line("p = position")
            self.line("size = len(buffer)")
            with self.block("try:"):
                message = self.struct(struct)
                self.flush()
            with self.block("except (IndexError, struct_error, UnicodeDecodeError) as broken:"):
                self.line(f"raise DecodeError(f'{struct.__name__} v{self.version}: {{broken}}') from broken")
            if self.pauses:
                self.line("yield")  # a generator also without arrays
            self.line(f"return {message}, p")
        return self.text, self.scope

    def flush(self) -> None:
        if not self.run:
            return
        targets = ", ".join(target for _, target in self.run)
        formats = "".join(format for format, _ in self.run)
        if formats == "B":
            self.line(f"{targets} = buffer[p]")
            self.line("p += 1")
        else:
            unpack, size = self.layout("unpack_from", formats)
            self.line(f"{targets}{',' if len(self.run) == 1 else ''} = {unpack}(buffer, p)")
            self.line(f"p += {size}")
        self.run = []

    def struct(self, struct: type[Struct]) -> str:
        """Emit the decoding of a struct here; return the name of its variable."""
        message = self.fresh("m")
        self.scope[struct.__name__] = struct
        self.line(f"{message} = new({struct.__name__})")
        for field in absent_fields(struct, self.version):
            self.default(message, field)
        for field in positional_fields(struct, self.version):
            where = f"{struct.__name__}.{field.name}"
            self.value(field.type, f"{message}.{field.name}", field.nullable_in(self.version), where)
        if self.flexible:
            self.tag_section(message, struct)
        elif schema_of(struct).keeps_unknown_tags:
            self.line(f"{message}.unknown_tags = ()")
        return message

    def default(self, message: str, field: Field) -> None:
        default = field.default_value()
        target = f"{message}.{field.name}"
        if default == [] and isinstance(default, list):
            self.line(f"{target} = []")
        elif field.default is MISSING and field.type.struct is not None and default is not None:
            self.line(f"{target} = {self.name('default', field.default_value)}()")
        else:
            self.line(f"{target} = {default!r}")

    def value(self, type: FieldType, target: str, nullable: bool, where: str) -> None:
        """Emit the decoding of a value of `type` into `target`."""
        if type.format is not None:
            self.run.append((type.format, target))
        elif type.element is not None:
            self.array(type.element, target, nullable, where)
        elif type.struct is None:
            self.sized(type, target, nullable, where)
        elif nullable:
            present = self.fresh("present")
            self.run.append(("b", present))
            self.flush()
            self.struct_or_null(type.struct, target, f"{present} < 0")
        else:
            self.flush()
            self.line(f"{target} = {self.struct(type.struct)}")

    def length(self, classic_format: str, tail: str) -> str:
        """Emit the reading of a length or a count; return its variable, which is -1 for null."""
        length = self.fresh("n")
        if self.flexible:
            self.run.append(("B", length))
            self.flush()
            with self.block(f"if {length} > 127:"):
                self.line(f"{length}, p = {tail}(buffer, p, {length})")
        else:
            self.run.append((classic_format, length))
            self.flush()
        return length

    def sized(self, type: FieldType, target: str, nullable: bool, where: str) -> None:
        """Emit the decoding of a string, bytes or records: a length and so many bytes."""
        is_string = type.name == "string"
        length = self.length("h" if is_string else "i", "string_tail" if is_string else "uvarint_tail")
        self.line(f"end = p + {length}{' - 1' if self.flexible else ''}")
        taken = {"string": 'str(buffer[p:end], "utf-8")', "bytes": "bytes(buffer[p:end])"}
        with self.block("if p <= end <= size:"):
            self.line(f"{target} = {taken.get(type.name, 'memoryview(buffer)[p:end]')}")
            self.line("p = end")
        if nullable:
            with self.block("elif end == p - 1:"):
                self.line(f"{target} = None")
        with self.block("else:"):
            self.line(f"raise bad_length({where!r}, end - p, size - p)")

    def array(self, element: FieldType, target: str, nullable: bool, where: str) -> None:
        count = self.length("i", "uvarint_tail")
        if self.flexible:
            self.line(f"{count} -= 1")
        least = least_size(element, False, self.version, self.flexible)
        with self.block(f"if 0 <= {count} * {least} <= size - p and {count} <= {MAX_ARRAY_ELEMENTS}:"):
            if element.format is not None and element.name != "uuid":
                few = self.layouts("unpack_from", element.format)
                many = f'unpack_from(f">{{{count}}}{element.format}", buffer, p)'
                self.line(f"{target} = list({few}[{count}](buffer, p) if {count} < {FEW} else {many})")
                self.line(f"p += {count} * {least}")
            else:
                self.elements(element, count, target, where)
        if nullable:
            with self.block(f"elif {count} == -1:"):
                self.line(f"{target} = None")
        with self.block("else:"):
            self.line(f"raise bad_count({where!r}, {count}, size - p)")

    def elements(self, element: FieldType, count: str, target: str, where: str) -> None:
        items, item = self.fresh("items"), self.fresh("item")
        self.line(f"{target} = {items} = []")
        with self.block(f"for _ in range({count}):"):
            if element.struct is not None:
                item = self.struct(element.struct)
            else:
                self.value(element, item, False, where)
            self.flush()
            self.line(f"{items}.append({item})")
            if self.pauses:
                self.line("yield")

    def struct_or_null(self, struct: type[Struct], target: str, is_null: str) -> None:
        with self.block(f"if {is_null}:"):
            self.line(f"{target} = None")
        with self.block("else:"):
            message = self.struct(struct)
            self.flush()
            self.line(f"{target} = {message}")

    def tag_section(self, message: str, struct: type[Struct]) -> None:
        known = tagged_fields(struct, self.version)
        keeps = schema_of(struct).keeps_unknown_tags
        for field in known:
            self.default(message, field)
        if keeps:
            self.line(f"{message}.unknown_tags = ()")
        count = self.fresh("n")
        self.run.append(("B", count))
        self.flush()
        with self.block(f"if {count}:"):
            if not known and not keeps and not _tags_of_other_versions(struct, known):
                self.line("p = skip_tags(buffer, p - 1)")
                return
            self.line(f"{count}, p = read_tag_count(buffer, p - 1)")
            with self.block(f"for _ in range({count}):"):
                self.tagged_value(message, struct, known, keeps)

    def tagged_value(self, message: str, struct: type[Struct], known: list[Field], keeps: bool) -> None:
        tag, end = self.fresh("tag"), self.fresh("end")
        self.line(f"{tag}, p = read_uvarint(buffer, p)")
        self.line(f"{end}, p = read_uvarint(buffer, p)")
        self.line(f"{end} += p")
        with self.block(f"if {end} > size:"):
            self.line(f"raise bad_length({struct.__name__ + ' tag'!r}, {end} - p, size - p)")
        for field in known:
            with self.block(f"if {tag} == {field.tag}:"):
                target, nullable = f"{message}.{field.name}", field.nullable_in(self.version)
                if field.type.struct is not None and nullable:
                    present = self.fresh("present")
                    self.line(f"{present}, p = read_uvarint(buffer, p)")
                    self.struct_or_null(field.type.struct, target, f"{present} == 0")
                else:
                    self.value(field.type, target, nullable, f"{struct.__name__}.{field.name}")
        refused = _tags_of_other_versions(struct, known)
        if refused:
            with self.block(f"if {tag} in {tuple(refused)}:"):
                self.line(f"raise bad_tag({struct.__name__!r}, {tag})")
        with self.block(f"if {tag} not in {tuple(field.tag for field in known)}:"):
            if keeps:
                self.line(f"{message}.unknown_tags += (({tag}, bytes(buffer[p:{end}])),)")
            self.line(f"p = {end}")
        with self.block(f"if p != {end}:"):
            self.line(f"raise bad_tag({struct.__name__!r}, {tag})")


def _tags_of_other_versions(struct: type[Struct], known: list[Field]) -> list[int]:
    here = {field.tag for field in known}
    return sorted({field.tag for field in struct.__schema__.fields if field.tag is not None} - here)


def _string_tail(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    length, position = uvarint_tail(buffer, position, first)
    if length > MAX_STRING_BYTES + 1:
        raise DecodeError(f"a string of {length - 1} bytes; the wire carries {MAX_STRING_BYTES}")
    return length, position


def _bad_length(where: str, length: int, left: int) -> DecodeError:
    if length == -1:
        return DecodeError(f"{where} must not be null")
    return DecodeError(f"{where} claims {length} bytes, but {left} are left")


def _bad_count(where: str, count: int, left: int) -> DecodeError:
    if count == -1:
        return DecodeError(f"{where} must not be null")
    if MAX_ARRAY_ELEMENTS < count <= left:
        return DecodeError(f"{where} claims {count} elements; at most {MAX_ARRAY_ELEMENTS} are read")
    return DecodeError(f"{where} claims {count} elements, but {left} bytes are left")


def _bad_tag(struct: str, tag: int) -> DecodeError:
    return DecodeError(f"{struct}: tagged field {tag} is not what this version defines, or not of the size it claims")


_HELPERS: dict[str, Any] = {
    "DecodeError": DecodeError,
    "bad_count": _bad_count,
    "bad_length": _bad_length,
    "bad_tag": _bad_tag,
    "new": object.__new__,
    "read_tag_count": read_tag_count,
    "read_uvarint": read_uvarint,
    "skip_tags": skip_tags,
    "string_tail": _string_tail,
    "struct_error": struct_error,
    "unpack_from": unpack_from,
    "uvarint_tail": uvarint_tail,
}
