"""docs/seed.schema.json: the JSON Schema of a seed, as `barnabas seed --schema` prints it."""

from __future__ import annotations

import json

from barnabas.broker.server.seeding.document import json_schema


def page() -> str:
    """Return the page."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
