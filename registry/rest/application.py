"""The ASGI application of the registry: it prepares requests, routes them, and answers in JSON.

Errors have Confluent's form, {"error_code": …, "message": …}. `requests` counts the answers by status.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from barnabas.registry.decisions.errors import RegistryError, http_error
from barnabas.registry.rest.api_request import ApiRequest, unknown_path
from barnabas.registry.rest.compatibility import Compatibility
from barnabas.registry.rest.config import Config
from barnabas.registry.rest.content_types import V1, accepted_type, is_taken
from barnabas.registry.rest.contexts import Contexts
from barnabas.registry.rest.mode import Mode
from barnabas.registry.rest.paths import below_context, path_of, query_of, segments_of, without_aliases
from barnabas.registry.rest.resource import ApiRoute, NoContent, Operation
from barnabas.registry.rest.schemas import Schemas
from barnabas.registry.rest.server_metadata import ServerMetadata
from barnabas.registry.rest.subject_versions import SubjectVersions
from barnabas.registry.rest.subjects import Subjects
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.plain_json import json_bytes

_WITH_BODY = ("POST", "PUT")


class RegistryApplication:
    """The REST API over one registry."""

    def __init__(
        self, registry: SchemaRegistry, metadata: ServerMetadata, report: Callable[[Exception, str], None]
    ) -> None:
        """Create it. report: logs an unexpected error, with the path of its request."""
        self.registry = registry
        self.requests: Counter[int] = Counter()
        self._report = report
        resources = (
            Subjects(registry),
            SubjectVersions(registry),
            Schemas(registry),
            Config(registry),
            Mode(registry),
            Compatibility(registry),
            Contexts(registry),
            metadata,
        )
        routes = [self._route(each) for resource in resources for each in resource.routes]
        self._app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error})
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request by the ASGI protocol."""
        accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
        content_type = accepted_type(accept)
        scope["registry.content_type"] = content_type or V1

        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.requests[message["status"]] += 1
            await send(message)

        try:
            if content_type is None:
                raise http_error(406, "HTTP 406 Not Acceptable")
            prepared = self._prepared(scope)
        except RegistryError as refusal:
            await _refused(refusal, scope)(scope, receive, counted)
        else:
            await self._app(prepared, receive, counted)

    def _prepared(self, scope: Scope) -> Scope:
        """Return the scope with the path that is routed, and the query read."""
        segments, query = segments_of(scope.get("raw_path") or scope["path"].encode()), query_of(scope["query_string"])
        try:
            segments, query = below_context(segments, query)
        except ValueError as why:
            raise http_error(400, str(why)) from why
        segments, query = without_aliases(segments, query, self.registry.state)
        return {**scope, "path": path_of(segments), "registry.query": query, "registry.segments": segments}

    def _route(self, route: ApiRoute) -> Route:
        names = _parameter_places(route.path)

        async def endpoint(request: Request) -> Response:
            segments, query = request.scope["registry.segments"], request.scope["registry.query"]
            try:
                if route.method in _WITH_BODY and not is_taken(request.headers.get("content-type", "")):
                    raise http_error(415, "HTTP 415 Unsupported Media Type")
                params = {name: segments[place] for place, name in names}
                return await _answer(route.operation, ApiRequest(params, query, await request.body()), request.scope)
            except RegistryError as refusal:
                return _refused(refusal, request.scope)
            except Exception as error:
                self._report(error, request.scope["path"])
                return _refused(http_error(500, "Internal Server Error"), request.scope)

        return Route(route.path, endpoint, methods=[route.method])


def _parameter_places(path: str) -> list[tuple[int, str]]:
    """Return the names of a path's parameters with their places, as segments are decoded before."""
    words: Iterable[tuple[int, str]] = enumerate(path.strip("/").split("/"))
    return [(place, word[1:-1]) for place, word in words if word.startswith("{")]


async def _answer(operation: Operation, request: ApiRequest, scope: Scope) -> Response:
    found = await operation(request)
    if isinstance(found, NoContent):
        return Response(status_code=204)
    body = found if isinstance(found, bytes) else json_bytes(found)
    return Response(body, headers={"content-type": scope["registry.content_type"]})


def _refused(refusal: RegistryError, scope: Scope) -> Response:
    body = json_bytes({"error_code": refusal.error_code, "message": refusal.message})
    return Response(body, refusal.status, headers={"content-type": scope["registry.content_type"]})


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer for a path or a method that is not there."""
    assert isinstance(error, HTTPException)
    refusal = unknown_path() if error.status_code == 404 else http_error(405, "HTTP 405 Method Not Allowed")
    answer = _refused(refusal, request.scope)
    if "Allow" in (error.headers or {}):
        answer.headers["allow"] = (error.headers or {})["Allow"]
    return answer
