"""/control in OpenAPI."""

from __future__ import annotations

from typing import Any

from barnabas.broker.http.control.clock_openapi import CLOCK
from barnabas.broker.http.control.describing import REFUSAL, operation
from barnabas.broker.http.control.faults_openapi import FAULTS
from barnabas.broker.http.control.route_group import Description
from barnabas.broker.http.control.share_locks_openapi import SHARE_LOCKS
from barnabas.broker.http.control.trace_openapi import TRACE
from barnabas.broker.http.control.why_openapi import WHY

PATH = "/control/openapi.json"
_ITSELF = {"description": "It.", "content": {"application/json": {"schema": {"type": "object"}}}}
OPENAPI = Description({PATH: {"get": operation("describe", "This description", _ITSELF)}}, {})
DESCRIPTIONS = (CLOCK, FAULTS, SHARE_LOCKS, TRACE, WHY, OPENAPI)
"""In the order of the document."""


def document() -> dict[str, Any]:
    """Return the whole description."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for each in DESCRIPTIONS:
        paths |= each.paths
        schemas |= each.schemas
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Barnabas: control of a running broker",
            "version": "1",
            "description": "For tests. Served where `barnabas serve` is given --http and --control.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Refusal": REFUSAL},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }
