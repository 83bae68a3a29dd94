"""The interface to the schema registry, if the broker serves one (broker/http/registry/)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from barnabas.registry.schema_registry import SchemaRegistry


class ServedRegistry(Protocol):
    """A schema registry that is served, and loaded when it is first needed."""

    async def current(self) -> SchemaRegistry:
        """Return the registry, with all records of its log applied. Raises RegistryError."""


RegistrySource: TypeAlias = Callable[[], ServedRegistry | None]
"""Returns the registry, if it is served; it is opened after the pages are."""


def no_registry() -> ServedRegistry | None:
    """Return none: the `RegistrySource` of a broker without a registry."""
    return None
