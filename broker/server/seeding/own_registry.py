"""The registry of this process as a seed fills it, before its port is open: over the same topic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.broker.http.registry.schemas_topic import SchemasTopic
from barnabas.broker.server.seeding.schemas import SchemaRefused
from barnabas.registry.decisions.configuring import update_config
from barnabas.registry.decisions.errors import RegistryError, invalid_subject
from barnabas.registry.decisions.parsing import SchemaWish
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.schemas.languages import parse
from barnabas.registry.state.qualified_subject import is_valid_subject
from barnabas.registry.state.settings import LEVEL
from barnabas.registry.state.stored_schema import SchemaReference

if TYPE_CHECKING:
    from barnabas.broker.server.seeding.document import SeedReference
    from barnabas.broker.services import Services

T = TypeVar("T")


class OwnRegistry:
    """A SchemaStore for a thread beside the event loop."""

    def __init__(self, services: Services, loop: asyncio.AbstractEventLoop) -> None:
        self._registry = SchemaRegistry(SchemasTopic(services), parse, self)
        self._services = services
        self._loop = loop

    def set_compatibility(self, subject: str, level: str) -> None:
        """Set the compatibility level of a subject. Raises SchemaRefused."""
        self._done(self._registry.change(lambda state: update_config(state, subject, {LEVEL: level})))

    def register(self, subject: str, schema_type: str, text: str, references: Sequence[SeedReference]) -> int:
        """Register a schema, and return its id. Raises SchemaRefused."""
        refers = tuple(SchemaReference(each.name, each.subject, each.version) for each in references)
        return self._done(self._registered(subject, SchemaWish(schema_type, text, refers)))

    async def _registered(self, subject: str, wish: SchemaWish) -> int:
        if not is_valid_subject(subject):
            raise invalid_subject(subject)
        return (await self._registry.register(subject, wish)).schema_id

    def _done(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except RegistryError as refusal:
            raise SchemaRefused(refusal.message) from refusal

    # --- RegistryHost ---

    def beside(self, work: Callable[[], T]) -> Awaitable[T]:
        """Do the work in a thread."""
        return self._loop.run_in_executor(None, work)

    def pause(self) -> Awaitable[None]:
        """Let the event loop turn once."""
        return self._services.upkeep.next_turn()

    def record_refused(self, why: str) -> None:
        """Fail: the topic of a new broker has the records of this registry only."""
        raise AssertionError(f"a record of _schemas is not applied: {why}")
