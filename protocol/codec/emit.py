"""Generation of source code: the common part of the emitters of decoders and encoders.

A `Source` collects indented lines and the objects they refer to, and joins adjacent fixed-width fields into a run, so
that the generated code handles them with a single `struct` call. A run ends where the next width depends on the data.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from struct import Struct as Layout
from typing import Any

from barnabas.protocol.codec.schema import Field, FieldType, Struct

FEW = 16


class Source(ABC):
    """Lines of a function for one struct in one `version`, and the names they use."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.scope: dict[str, Any] = {}
        self.run: list[tuple[str, str]] = []  # (format character, expression) of the fields not written out yet
        self._lines: list[str] = []
        self._depth = 0
        self._numbers = count(1)

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Open an indented block. Runs do not cross its borders."""
        self.flush()
        self.line(opening)
        self._depth += 1
        opened = len(self._lines)
        yield
        self.flush()
        if len(self._lines) == opened:
            self.line("pass")
        self._depth -= 1

    @abstractmethod
    def flush(self) -> None:
        """Write the current run of fixed-width fields."""

    def fresh(self, prefix: str) -> str:
        """Return a variable name not used before."""
        return f"{prefix}{next(self._numbers)}"

    def name(self, prefix: str, value: Any) -> str:
        """Return a new name in the scope of the generated code for an object."""
        name = self.fresh(prefix)
        self.scope[name] = value
        return name

    def layout(self, verb: str, formats: str) -> tuple[str, int]:
        """Return the name of the bound method `verb` of the `struct` layout for `formats`, and the layout's size."""
        layout = Layout(">" + formats)
        name = f"{verb}_{formats.replace('?', 't')}"
        self.scope[name] = getattr(layout, verb)
        return name, layout.size

    def layouts(self, verb: str, format: str) -> str:
        """Return the name of the bound methods `verb` for arrays of up to FEW elements of a fixed-width type.

        Looking up a layout by its text costs as much as using it, and most arrays (for example replicas) are short.
        """
        name = f"{verb}_few_{format.replace('?', 't')}"
        self.scope[name] = tuple(getattr(layout, verb) for layout in _few(format))
        return name


@cache
def _few(format: str) -> list[Layout]:
    return [Layout(f">{count}{format}") for count in range(FEW)]


def least_size(type: FieldType, nullable: bool, version: int, flexible: bool) -> int:
    """Return the fewest bytes of a value of `type`: a claimed count times this is checked before allocation."""
    if type.format is not None:
        return Layout(">" + type.format).size
    if type.struct is not None:
        return 1 if nullable else max(1, least_struct_size(type.struct, version, flexible))
    if flexible:
        return 1
    return 2 if type.name == "string" else 4


def least_struct_size(struct: type[Struct], version: int, flexible: bool) -> int:
    return int(flexible) + sum(
        least_size(field.type, field.nullable_in(version), version, flexible)
        for field in positional_fields(struct, version)
    )


def positional_fields(struct: type[Struct], version: int) -> list[Field]:
    """Return the fields of `struct` that are encoded in order, outside the tag section, in `version`."""
    return [field for field in struct.__schema__.fields if field.in_version(version) and not field.tagged_in(version)]


def tagged_fields(struct: type[Struct], version: int) -> list[Field]:
    """Return the fields of `struct` that are in the tag section in `version`."""
    return [field for field in struct.__schema__.fields if field.in_version(version) and field.tagged_in(version)]


def absent_fields(struct: type[Struct], version: int) -> list[Field]:
    """Return the fields of `struct` that `version` does not have."""
    return [field for field in struct.__schema__.fields if not field.in_version(version)]
