"""The application of the registry: it prepares requests, routes them, and answers in JSON.

Errors have Confluent's form, {"error_code": …, "message": …}. `requests` counts the answers by status.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from barnabas.registry.decisions.errors import RegistryError, http_error
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.compatibility import Compatibility
from barnabas.registry.rest.config import Config
from barnabas.registry.rest.content_types import V1, accepted_type, is_taken
from barnabas.registry.rest.contexts import Contexts
from barnabas.registry.rest.mode import Mode
from barnabas.registry.rest.paths import below_context, path_of, query_of, segments_of, without_aliases
from barnabas.registry.rest.resource import MethodNotAllowed, NoContent, Routes
from barnabas.registry.rest.schemas import Schemas
from barnabas.registry.rest.server_metadata import ServerMetadata
from barnabas.registry.rest.subject_versions import SubjectVersions
from barnabas.registry.rest.subjects import Subjects
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.plain_json import json_bytes

_WITH_BODY = ("POST", "PUT")
_OK, _NO_CONTENT = 200, 204
Headers = Sequence[tuple[bytes, bytes]]


class ApiAnswer(NamedTuple):
    """An answer. content_type: None without a body. methods: what the path allows, if the request was none of these."""

    status: int
    body: bytes
    content_type: str | None
    methods: Sequence[str] = ()


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
        self._routes = Routes(each for resource in resources for each in resource.routes)

    async def answer(self, method: str, target: bytes, headers: Headers, body: bytes) -> ApiAnswer:
        """Answer a request. target: path and query; the names of headers are in lower case."""
        content_type = accepted_type(_header(headers, b"accept"))
        try:
            if content_type is None:
                raise http_error(406, "HTTP 406 Not Acceptable")
            found = await self._found(method, target, _header(headers, b"content-type"), body)
            answer = ApiAnswer(_NO_CONTENT, b"", None) if found is None else ApiAnswer(_OK, found, content_type)
        except RegistryError as refusal:
            shown = json_bytes({"error_code": refusal.error_code, "message": refusal.message})
            methods = refusal.methods if isinstance(refusal, MethodNotAllowed) else ()
            answer = ApiAnswer(refusal.status, shown, content_type or V1, methods)
        self.requests[answer.status] += 1
        return answer

    async def _found(self, method: str, target: bytes, content_type: str, body: bytes) -> bytes | None:
        """Return the body of the answer, None without one. Raises RegistryError."""
        path, _, query_string = target.partition(b"?")
        segments, query = segments_of(path), query_of(query_string)
        try:
            segments, query = below_context(segments, query)
        except ValueError as why:
            raise http_error(400, str(why)) from why
        segments, query = without_aliases(segments, query, self.registry.state)
        route, params = self._routes.find(method, segments)
        if route.method in _WITH_BODY and not is_taken(content_type):
            raise http_error(415, "HTTP 415 Unsupported Media Type")
        try:
            return _body(await route.operation(ApiRequest(params, query, body)))
        except RegistryError:
            raise
        except Exception as error:
            self._report(error, path_of(segments))
            raise http_error(500, "Internal Server Error") from error


def _body(found: Any) -> bytes | None:
    if isinstance(found, NoContent):
        return None
    return found if isinstance(found, bytes) else json_bytes(found)


def _header(headers: Headers, wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == wanted), "")
