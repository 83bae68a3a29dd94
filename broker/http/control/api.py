"""One room of /control: what is asked for there, and how that is described. The application puts the rooms together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.responses import JSONResponse
from starlette.routing import Route

BAD_REQUEST, NOT_FOUND, SERVICE_UNAVAILABLE, GATEWAY_TIMEOUT = 400, 404, 503, 504


class Description(NamedTuple):
    """In OpenAPI. paths: by path below the root. schemas: by name."""

    paths: Mapping[str, Any]
    schemas: Mapping[str, Any]


class Room(NamedTuple):
    """routes: all paths are those of `description`, and the other way round."""

    routes: Sequence[Route]
    description: Description


def refused(why: str, status: int = BAD_REQUEST) -> JSONResponse:
    """Why something was not done, in a sentence."""
    return JSONResponse({"error": why}, status)
