"""A running registry as a seed fills it: through its REST API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from barnabas.broker.cli.terminal.registry_api import RegistryApi
from barnabas.broker.server.seeding.schemas import SchemaRefused

if TYPE_CHECKING:
    from barnabas.broker.server.seeding.document import SeedReference


class RegistryStore:
    """A SchemaStore at a URL. OSError if the registry does not answer."""

    def __init__(self, api: RegistryApi) -> None:
        self._api = api

    def set_compatibility(self, subject: str, level: str) -> None:
        """Set the compatibility level of a subject. Raises SchemaRefused."""
        self._asked("PUT", f"/config/{quote(subject, safe='')}", {"compatibility": level})

    def register(self, subject: str, schema_type: str, text: str, references: Sequence[SeedReference]) -> int:
        """Register a schema, and return its id. Raises SchemaRefused."""
        body: dict[str, Any] = {"schema": text}
        if schema_type != "AVRO":
            body["schemaType"] = schema_type
        if references:
            body["references"] = [
                {"name": each.name, "subject": each.subject, "version": each.version} for each in references
            ]
        return int(self._asked("POST", f"/subjects/{quote(subject, safe='')}/versions", body)["id"])

    def _asked(self, method: str, path: str, body: Any) -> dict[str, Any]:
        answer = self._api.ask(path, body, method)
        if answer.status != 200 or not answer.fields:
            raise SchemaRefused(f"{self._api.address}: the registry answered {answer.refusal}")
        return answer.fields
