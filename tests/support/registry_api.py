"""The registry's API without a broker: a log in memory, and requests as the listener passes them on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from barnabas.registry.registry_log import SchemasLogFailure, SchemasReader, SchemasRecord
from barnabas.registry.rest.application import RegistryApplication
from barnabas.registry.rest.server_metadata import ServerMetadata
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.schemas.languages import parse
from tests.support.worlds.broker import turn

T = TypeVar("T")
JSON_BODY = {"content-type": "application/vnd.schemaregistry.v1+json"}


class MemoryLog:
    """A `SchemasLog`. `failure`, `sync_failure`: why appends or syncs fail, if they do."""

    def __init__(self) -> None:
        self.records: list[SchemasRecord] = []
        self.record_bytes_max = 1_000_000
        self.failure: str | None = None
        self.sync_failure: str | None = None
        self.now_ms = 1_000
        self._applied = 0

    @property
    def is_applied(self) -> bool:
        return self._applied == len(self.records)

    async def apply(self, reader: SchemasReader) -> None:
        while not self.is_applied:
            key, value = self.records[self._applied]
            self._applied += 1
            reader.replay(key, value, self.now_ms)

    def append(self, records: Sequence[SchemasRecord]) -> int:
        assert self.is_applied, "a decision has not seen all records"
        if self.failure is not None:
            raise SchemasLogFailure(self.failure)
        self.records += records
        self._applied = len(self.records)
        return self.now_ms

    async def durable(self) -> None:
        if self.sync_failure is not None:
            raise SchemasLogFailure(self.sync_failure)


class Answered(NamedTuple):
    """An answer. body: plain values of its JSON; None if there is none. methods: what the path allows instead."""

    status: int
    body: Any
    content_type: str | None
    methods: Sequence[str] = ()


class RegistryApi:
    """The API over a log, for `ask`."""

    def __init__(self, log: MemoryLog | None = None) -> None:
        self.log = log or MemoryLog()
        self.refused: list[str] = []
        self.threads = self.pauses = 0
        self.registry = SchemaRegistry(self.log, parse, self)
        self.application = RegistryApplication(self.registry, ServerMetadata("cluster", "barnabas"), self._report)

    def _report(self, error: Exception, path: str) -> None:
        raise AssertionError(f"{path} failed") from error

    def beside(self, work: Callable[[], T]) -> Awaitable[T]:
        self.threads += 1
        return asyncio.get_running_loop().run_in_executor(None, work)

    def pause(self) -> Awaitable[None]:
        self.pauses += 1
        return turn()

    def record_refused(self, why: str) -> None:
        self.refused.append(why)

    async def ask(self, method: str, target: str, body: Any = None, **headers: str) -> Answered:
        """Send a request. body: plain values for its JSON, or bytes."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {
            **({} if body is None else JSON_BODY),
            **{key.replace("_", "-"): text for key, text in headers.items()},
        }
        sent = [(key.encode(), text.encode()) for key, text in given.items()]
        found = await self.application.answer(method, target.encode(), sent, data)
        return Answered(found.status, _values(found.body), found.content_type, found.methods)

    async def done(self, method: str, target: str, body: Any = None) -> Any:
        """Send a request that succeeds, and return the body of the answer."""
        answered = await self.ask(method, target, body)
        assert answered.status in (200, 204), answered
        return answered.body

    async def refusal(self, method: str, target: str, body: Any = None) -> tuple[int, str]:
        """Send a request that is refused, and return error code and message."""
        answered = await self.ask(method, target, body)
        assert answered.status == int(str(answered.body["error_code"])[:3]), answered
        return answered.body["error_code"], answered.body["message"]

    async def register(self, subject: str, schema: Any, **fields: Any) -> Any:
        """Register a schema, plain values of Avro, and return the answer."""
        return await self.done("POST", f"/subjects/{subject}/versions", {"schema": json.dumps(schema), **fields})


def _values(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data


def record(name: str, *fields: Any) -> dict[str, Any]:
    """Return an Avro record with these fields: names of strings, or plain values."""
    made = [{"name": each, "type": "string"} if isinstance(each, str) else each for each in fields]
    return {"type": "record", "name": name, "fields": made}


def optional(name: str) -> dict[str, Any]:
    """Return a field of Avro with a default."""
    return {"name": name, "type": "string", "default": ""}
