"""docs/control.openapi.json: /control in OpenAPI, as the broker serves it."""

import json

from barnabas.broker.http.control.openapi import document


def page() -> str:
    """Return the whole document."""
    return json.dumps(document(), indent=2) + "\n"
