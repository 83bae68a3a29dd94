"""The routes of one subject of /control, and their description. The application combines the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.responses import JSONResponse
from starlette.routing import Route

BAD_REQUEST, NOT_FOUND, SERVICE_UNAVAILABLE, GATEWAY_TIMEOUT = 400, 404, 503, 504


class Description(NamedTuple):
    """A description in OpenAPI. paths: by path below the root. schemas: by name."""

    paths: Mapping[str, Any]
    schemas: Mapping[str, Any]


class RouteGroup(NamedTuple):
    """The routes of one subject. routes: their paths are exactly those of `description`."""

    routes: Sequence[Route]
    description: Description


def refused(why: str, status: int = BAD_REQUEST) -> JSONResponse:
    """Return an answer with the reason for a refusal, in a sentence."""
    return JSONResponse({"error": why}, status)
