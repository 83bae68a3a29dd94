"""The source of an encoder: a message to bytes, for one struct in one version.

The generated function returns the parts of the encoding in order: packed runs of fixed-width fields, strings, and the
records, not copied. As in Kafka, a value in a field the version lacks is refused unless the field is ignorable, and a
tagged field with its default value is left out.
"""

from struct import error as struct_error
from struct import pack
from typing import Any

from barnabas.protocol.codec.emit import FEW, Source, absent_fields, positional_fields, tagged_fields
from barnabas.protocol.codec.schema import EncodedArray, Field, FieldType, Struct, default_instance, schema_of
from barnabas.protocol.errors import EncodeError, FieldNotInVersion
from barnabas.protocol.primitives import MAX_STRING_BYTES, uvarint


def emit_encoder(
    struct: type[Struct], version: int, flexible: bool, *, pauses: bool = False
) -> tuple[str, dict[str, Any]]:
    """Return the source of `encode(message) -> list of parts`, and the names it needs.

    With `pauses` it is a generator, which yields the parts after each element of an array, and returns them. The
    caller may remove parts from the list. An array inside a tagged field has no pauses.
    """
    return EncoderSource(version, flexible, pauses=pauses).function(struct)


class EncoderSource(Source):
    add = "add"  # the function that adds parts; another one inside a tagged field

    def __init__(self, version: int, flexible: bool, *, pauses: bool = False) -> None:
        super().__init__(version, flexible)
        self._pauses = pauses

    def function(self, struct: type[Struct]) -> tuple[str, dict[str, Any]]:
        self.scope.update(_HELPERS)
        with self.block("def encode(m):"):
            self.line("parts = []")
            self.line("add = parts.append")
            if self._pauses:
                self.line("yield parts")  # a generator, also without arrays
            with self.block("try:"):
                self.struct(struct, "m")
                self.flush()
            with self.block("except (struct_error, AttributeError, TypeError, UnicodeEncodeError) as wrong:"):
                self.line(f"raise EncodeError(f'{struct.__name__} v{self.version}: {{wrong}}') from wrong")
            self.line("return parts")
        return self.text, self.scope

    def flush(self) -> None:
        if self.run:
            self.line(f"{self.add}({self.packed(self.run)})")
            self.run = []

    def packed(self, run: list[tuple[str, str]]) -> str:
        """Return an expression for the bytes of a run."""
        if run == [("B", "0")]:
            return r"b'\0'"
        pack, _ = self.layout("pack", "".join(format for format, _ in run))
        return f"{pack}({', '.join(value for _, value in run)})"

    def struct(self, struct: type[Struct], message: str) -> None:
        for field in absent_fields(struct, self.version):
            if not field.ignorable:
                with self.block(f"if {self.differs(field, f'{message}.{field.name}')}:"):
                    self.line(f"raise absent({struct.__name__ + '.' + field.name!r}, {self.version})")
        for field in positional_fields(struct, self.version):
            self.value(field.type, f"{message}.{field.name}", field.nullable_in(self.version))
        if self.flexible:
            self.tag_section(struct, message)

    def differs(self, field: Field, value: str) -> str:
        """Return a condition that holds when `value` is not the field's default."""
        default = field.default_value()
        if field.type.struct is not None:
            usual = self.name("default", default_instance(field.type.struct))
            if default is not None:
                return f"{value} != {usual}"
            return f"{value} is not None" + (f" and {value} != {usual}" if field.may_be_unset else "")
        if default is None:
            return f"{value} is not None"
        if isinstance(default, list):
            return f"{value} or {value} is None"
        return f"{value} != {default!r}"

    def value(self, type: FieldType, value: str, nullable: bool) -> None:
        """Emit the encoding of `value`, an expression of `type`."""
        if type.format is not None:
            self.run.append((type.format, value))
        elif type.element is not None:
            self.array_or_encoded(type, value, nullable)
        elif type.struct is None:
            self.sized(type, value, nullable)
        elif nullable:
            self.nullable_struct(type.struct, value, null="-1")
        else:
            message = self.fresh("m")
            self.line(f"{message} = {value}")
            self.struct(type.struct, message)

    def length(self, length: str, classic_format: str, long: str = "uvarint") -> None:
        """Emit a length (one more than the size, if flexible) after the pending run."""
        if not self.flexible:
            self.run.append((classic_format, length))
            self.flush()
            return
        pending, self.run = self.run, []
        with self.block(f"if {length} < 128:"):
            self.run = [*pending, ("B", length)]
        with self.block("else:"):
            self.run = pending
            self.flush()
            self.line(f"{self.add}({long}({length}))")

    def measured(self, value: str, nullable: bool, taken: str) -> tuple[str, str]:
        """Put `taken` (of `value`) and its length into variables; return their names. Null: empty, with null length."""
        data, length = self.fresh("v"), self.fresh("n")
        more = " + 1" if self.flexible else ""
        if not nullable:
            self.line(f"{data} = {taken.format(value)}")
            self.line(f"{length} = len({data}){more}")
            return data, length
        self.line(f"{data} = {value}")
        pending, self.run = self.run, []  # saved: these blocks write nothing yet
        with self.block(f"if {data} is None:"):
            self.line(f"{data} = b''")
            self.line(f"{length} = {'0' if self.flexible else '-1'}")
        with self.block("else:"):
            if taken != "{}":
                self.line(f"{data} = {taken.format(data)}")
            self.line(f"{length} = len({data}){more}")
        self.run = pending
        return data, length

    def sized(self, type: FieldType, value: str, nullable: bool) -> None:
        """Emit the encoding of a string, bytes or records: a length and so many bytes."""
        if type.name == "string":
            data, length = self.measured(value, nullable, "{}.encode()")
            self.length(length, "h", "string_length")
        else:
            data, length = self.measured(value, nullable, "{}")
            self.length(length, "i")
        self.line(f"{self.add}({data})")

    def array_or_encoded(self, type: FieldType, value: str, nullable: bool) -> None:
        assert type.element is not None
        if not type.may_be_encoded:
            self.array(type.element, value, nullable)
            return
        if not self.flexible:  # encoded arrays are flexible: here its elements would be lost
            self.line(f"assert type({value}) is not EncodedArray")
            self.array(type.element, value, nullable)
            return
        self.flush()
        with self.block(f"if type({value}) is EncodedArray:"):
            self.line(f"{self.add}({value}.data)")
        with self.block("else:"):
            self.array(type.element, value, nullable)
            self.flush()

    def array(self, element: FieldType, value: str, nullable: bool) -> None:
        items, count = self.measured(value, nullable, "{}")
        self.length(count, "i")
        if element.format is not None and element.name != "uuid":
            few, many = self.layouts("pack", element.format), f'pack(f">{{len({items})}}{element.format}", *{items})'
            with self.block(f"if {items}:"):
                self.line(f"{self.add}({few}[len({items})](*{items}) if len({items}) < {FEW} else {many})")
            return
        item = self.fresh("item")
        with self.block(f"for {item} in {items}:"):
            if element.struct is not None:
                self.struct(element.struct, item)
            else:
                self.value(element, item, False)
            if self._pauses and self.add == "add":
                self.flush()
                self.line("yield parts")

    def nullable_struct(self, struct: type[Struct], value: str, null: str) -> None:
        message = self.fresh("m")
        self.line(f"{message} = {value}")
        with self.block(f"if {message} is None:"):
            self.run.append(("b", null))
        with self.block("else:"):
            self.run.append(("b", "1"))
            self.struct(struct, message)

    def tag_section(self, struct: type[Struct], message: str) -> None:
        known = tagged_fields(struct, self.version)
        keeps = schema_of(struct).keeps_unknown_tags
        if not known and not keeps:
            self.run.append(("B", "0"))
            return
        self.flush()
        tags = self.fresh("tags")
        self.line(f"{tags} = {f'list({message}.unknown_tags)' if keeps else '[]'}")
        for field in known:
            with self.block(f"if {self.differs(field, f'{message}.{field.name}')}:"):
                self.tagged_value(field, f"{message}.{field.name}", tags)
        self.line(rf"{self.add}(tag_section({tags}) if {tags} else b'\0')")

    def tagged_value(self, field: Field, value: str, tags: str) -> None:
        outer, parts = self.add, self.fresh("parts")
        self.add = f"{parts}.append"
        self.line(f"{parts} = []")
        nullable = field.nullable_in(self.version)
        if field.type.struct is not None and nullable:
            self.nullable_struct(field.type.struct, value, null="0")
        else:
            self.value(field.type, value, nullable)
        self.flush()
        self.line(f"{tags}.append(({field.tag}, b''.join({parts})))")
        self.add = outer


def _string_length(length: int) -> bytes:
    if length > MAX_STRING_BYTES + 1:
        raise EncodeError(f"a string of {length - 1} bytes; the wire carries {MAX_STRING_BYTES}")
    return uvarint(length)


def _tag_section(tags: list[tuple[int, bytes]]) -> bytes:
    parts = [uvarint(len(tags))]
    for tag, data in sorted(tags):
        parts += uvarint(tag), uvarint(len(data)), data
    return b"".join(parts)


def _absent(where: str, version: int) -> FieldNotInVersion:
    return FieldNotInVersion(f"{where} holds a value, but version {version} has no such field")


_HELPERS: dict[str, Any] = {
    "EncodeError": EncodeError,
    "EncodedArray": EncodedArray,
    "absent": _absent,
    "pack": pack,
    "string_length": _string_length,
    "struct_error": struct_error,
    "tag_section": _tag_section,
    "uvarint": uvarint,
}
