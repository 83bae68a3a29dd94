# compiled: mypyc
"""One request of the API: its path, its query and its body, read as Confluent's registry reads them.

Numbers in the query that are none are answered like an unknown path, as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from barnabas.registry.decisions.errors import RegistryError, http_error, invalid_schema, invalid_version
from barnabas.registry.decisions.parsing import SchemaWish
from barnabas.registry.rest.paths import Query
from barnabas.registry.state.metadata import read_metadata
from barnabas.registry.state.plain_json import InvalidJson, json_value
from barnabas.registry.state.qualified_subject import normalized
from barnabas.registry.state.registry_state import LATEST
from barnabas.registry.state.rule_sets import read_rule_set
from barnabas.registry.state.stored_schema import AVRO, SchemaReference

T = TypeVar("T")
INT_MAX = (1 << 31) - 1


class ApiRequest(NamedTuple):
    """A request that was routed. params: of its path, decoded."""

    params: Mapping[str, str]
    query: Query
    body: bytes

    @property
    def subject(self) -> str:
        """The subject of the path, without a context that is the default one."""
        return normalized(self.params["subject"])

    @property
    def version(self) -> int:
        """The version of the path: -1 for the latest. Raises RegistryError 42202."""
        word = self.params["version"].strip()
        if word.lower() == "latest":
            return LATEST
        number = _int(word)
        if number is None or (number <= 0 and number != LATEST):
            raise invalid_version(self.params["version"] if number is None else number)
        return number

    @property
    def schema_id(self) -> int:
        """The id of the path."""
        number = _int(self.params["id"])
        if number is None:
            raise unknown_path()
        return number

    def text(self, name: str, default: str = "") -> str:
        """Return the first value of a parameter."""
        return next((value for key, value in self.query if key == name), default)

    def texts(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for key, value in self.query if key == name]

    def flag(self, name: str) -> bool:
        """Return whether a parameter is true."""
        return self.text(name).lower() == "true"

    def page(self, values: Iterable[T], limit_max: int = INT_MAX) -> list[T]:
        """Return the values that offset and limit of the query select; without a limit up to limit_max."""
        offset, limit = self.window(limit_max)
        return list(islice(values, offset, offset + limit))

    def window(self, limit_max: int) -> tuple[int, int]:
        """Return offset and limit of the query; without a valid limit limit_max."""
        offset, limit = max(self._number("offset", 0), 0), self._number("limit", -1)
        return offset, limit if 0 < limit <= limit_max else limit_max

    def _number(self, name: str, default: int) -> int:
        word = self.text(name)
        number = _int(word) if word else default
        if number is None:
            raise unknown_path()
        return number

    def json(self) -> Mapping[str, Any]:
        """Return the body, an object. Raises RegistryError."""
        if not self.body.strip():
            raise http_error(422, "The request body must not be empty")
        try:
            value = json_value(self.body)
        except InvalidJson as why:
            raise http_error(400, f"Invalid JSON: {why}") from why
        if value is None:
            raise http_error(422, "The request body must not be null")
        if not isinstance(value, Mapping):
            raise http_error(400, "Invalid JSON: it is not an object")
        return value

    def wish(self) -> SchemaWish:
        """Return the schema in the body. Raises RegistryError."""
        fields = self.json()
        try:
            return SchemaWish(
                schema_type=_optional_text(fields, "schemaType") or AVRO,
                text=_optional_text(fields, "schema"),
                references=tuple(_reference(each) for each in _list(fields, "references")),
                metadata=read_metadata(fields.get("metadata")),
                rule_set=read_rule_set(fields.get("ruleSet")),
                version=_optional_int(fields, "version", 0),
                schema_id=_optional_int(fields, "id", -1),
            )
        except ValueError as why:
            raise http_error(400, f"Invalid JSON: {why}") from why


def unknown_path() -> RegistryError:
    """Refuse a path at which nothing is."""
    return http_error(404, "HTTP 404 Not Found")


def _reference(value: Any) -> SchemaReference:
    if not isinstance(value, Mapping):
        raise ValueError("a reference is not an object")
    name, subject = _optional_text(value, "name"), _optional_text(value, "subject")
    if name is None or subject is None or value.get("version") is None:
        raise invalid_schema("Invalid reference: it has no name, subject or version")
    return SchemaReference(name, subject, _optional_int(value, "version", 0))


def _list(fields: Mapping[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    if not isinstance(value, list | None):
        raise ValueError(f"{name} is not an array")
    return value or []


def _optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if not isinstance(value, str | None):
        raise ValueError(f"{name} is not a string")
    return value


def _optional_int(fields: Mapping[str, Any], name: str, default: int) -> int:
    value = fields.get(name)
    if value is None:
        return default
    number = _int(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int) or not -INT_MAX - 1 <= number <= INT_MAX:
        raise ValueError(f"{name} is not a number")
    return number


def _int(word: str) -> int | None:
    """Return a number of 32 bits in decimal digits."""
    digits = word.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 10):
        return None
    number = int(word)
    return number if -INT_MAX - 1 <= number <= INT_MAX else None
