"""A resource of the API: its routes, and what it answers with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from barnabas.registry.rest.api_request import ApiRequest

Operation: TypeAlias = Callable[[ApiRequest], Awaitable[Any]]
"""Returns plain values, or NoContent. Raises RegistryError."""


class NoContent:
    """An answer without a body."""


class ApiRoute(NamedTuple):
    """An operation. path: with the names of its parameters in braces."""

    method: str
    path: str
    operation: Operation
