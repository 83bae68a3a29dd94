"""A resource of the API: its routes, and what it answers with; and the routes of all resources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from barnabas.registry.decisions.errors import RegistryError
from barnabas.registry.rest.api_request import ApiRequest, unknown_path

Operation: TypeAlias = Callable[[ApiRequest], Awaitable[Any]]
"""Returns plain values, or NoContent. Raises RegistryError."""


class NoContent:
    """An answer without a body."""


class MethodNotAllowed(RegistryError):
    """The path has operations, but none for the method. methods: those that it has operations for."""

    def __init__(self, methods: Sequence[str]) -> None:
        super().__init__(405, 405, "HTTP 405 Method Not Allowed")
        self.methods = methods


class ApiRoute(NamedTuple):
    """An operation. path: with the names of its parameters in braces."""

    method: str
    path: str
    operation: Operation


class Routed(NamedTuple):
    """A route, and the parameters that a path gives it."""

    route: ApiRoute
    params: dict[str, str]


class Routes:
    """All routes. Of those for a path and a method the first one counts; HEAD is answered like GET."""

    def __init__(self, routes: Iterable[ApiRoute]) -> None:
        self._by_length: dict[int, list[tuple[ApiRoute, list[str]]]] = {}
        for route in routes:
            words = route.path.strip("/").split("/")
            self._by_length.setdefault(len(words), []).append((route, words))

    def find(self, method: str, segments: Sequence[str]) -> Routed:
        """Return the route for the decoded segments of a path. Raises RegistryError."""
        wanted, others = "GET" if method == "HEAD" else method, list[str]()
        for route, words in self._by_length.get(len(segments), ()):
            params = _params(words, segments)
            if params is None:
                continue
            if route.method == wanted:
                return Routed(route, params)
            others += ["GET", "HEAD"] if route.method == "GET" else [route.method]
        raise MethodNotAllowed(list(dict.fromkeys(others))) if others else unknown_path()


def _params(words: Sequence[str], segments: Sequence[str]) -> dict[str, str] | None:
    """Return the parameters of a path; None if it is another path."""
    params = {}
    for word, segment in zip(words, segments, strict=True):
        if word[:1] == "{":
            if not segment:
                return None
            params[word[1:-1]] = segment
        elif word != segment:
            return None
    return params
