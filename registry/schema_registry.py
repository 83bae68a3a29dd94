"""The registry: its state, kept in a log, and the operations of the REST API.

Knows neither HTTP nor a broker. Theory of operation: an operation that changes something waits for its turn, applies
what others have appended to the log, decides, appends and applies its records in one step of the event loop, and
returns once they are on disk, if syncs are configured. Long schemas are parsed and compared in a thread; if the state
has changed meanwhile, the decision is made again. A decision with very many records is written in several steps: others
see a part of it meanwhile, as they do with Confluent's registry, and a crash leaves a part that can be deleted again.

Invariants: records are appended by one operation at a time, and only once all others are applied; only applied records
change the state; no operation returns, or refuses because of, what is not durable yet.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

from barnabas.registry.decisions.compatibility import incompatibility_messages, versions_to_check
from barnabas.registry.decisions.errors import RegistryError, invalid_schema, schema_too_large, store_failed
from barnabas.registry.decisions.lookups import equal_version, version_with_fingerprint
from barnabas.registry.decisions.parsing import (
    ParsedSchemas,
    SchemaCandidate,
    SchemaParser,
    SchemaSource,
    SchemaWish,
    candidate_of,
    source_of_stored,
    source_of_wish,
)
from barnabas.registry.decisions.registering import (
    Examined,
    Registered,
    check_mode,
    decide,
    examined,
    filled,
    is_import,
    known_version,
    next_version,
)
from barnabas.registry.registry_log import SchemasLog, SchemasLogFailure, SchemasRecord
from barnabas.registry.schemas.parsed_schema import Incompatibility, ParsedSchema
from barnabas.registry.state.records import (
    DeleteSubjectRecord,
    InvalidRegistryRecord,
    RegistryRecord,
    SchemaRecord,
    decode,
    encode,
)
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.settings import has_defaults_or_overrides
from barnabas.registry.state.stored_schema import StoredSchema

T = TypeVar("T")
AT_ONCE_CHARACTERS_MAX = 4_000
"""Texts up to this length together are parsed and compared at once, in a few milliseconds."""
RECORDS_A_STEP = 100
"""How many records are encoded, or appended and applied, in one step: only deletions for good have more."""


class RegistryHost(Protocol):
    """The services of the registry's process."""

    def beside(self, work: Callable[[], T]) -> Awaitable[T]:
        """Do the work in a thread."""

    def pause(self) -> Awaitable[None]:
        """Let the event loop turn once."""

    def record_refused(self, why: str) -> None:
        """Report a record of the log that is not applied."""


class SchemaRegistry:
    """The registry over one log."""

    def __init__(self, log: SchemasLog, parse: SchemaParser, host: RegistryHost) -> None:
        self.state = RegistryState()
        self.created: Counter[str] = Counter()
        """How many versions were registered in this run, or replayed, by schema type."""
        self.deleted: Counter[str] = Counter()
        """Likewise, how many were marked as deleted."""
        self._log = log
        self._host = host
        self._schemas = ParsedSchemas(parse)
        self._turn = asyncio.Lock()

    # --- the log ---

    def replay(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        """Apply a record of the log. One that cannot be read, or that contradicts others, is reported and left out."""
        try:
            record = decode(key, value, timestamp_ms)
        except InvalidRegistryRecord as why:
            self._host.record_refused(str(why))
            return
        if record is not None:
            self._apply(record)

    def forget(self) -> None:
        """Begin with an empty state: the topic was deleted."""
        revision, removals = self.state.revision, self.state.removals
        self.state = RegistryState()
        self.state.revision, self.state.removals = revision + 1, removals + 1

    def _apply(self, record: RegistryRecord) -> None:
        if isinstance(record, DeleteSubjectRecord):
            marked = [each for each in self.state.versions(record.subject) if each.version <= record.version]
            self.deleted.update(each.content.schema_type for each in marked if not each.is_deleted)
        if not self.state.apply(record):
            self._host.record_refused("a schema has the id of another one")
        elif isinstance(record, SchemaRecord) and record.schema is not None:
            counts = self.deleted if record.schema.is_deleted else self.created
            counts[record.schema.content.schema_type] += 1
        self._schemas.follow(self.state)

    async def current(self) -> RegistryState:
        """Return the state, with all records of the log applied and durable. Raises RegistryError."""
        await self._applied()
        await self._durable()
        return self.state

    async def _applied(self) -> None:
        try:
            while not self._log.is_applied:
                await self._log.apply(self)
        except SchemasLogFailure as why:
            raise store_failed(f"Error while reading from the Kafka store: {why}") from why

    async def pause(self) -> None:
        """Let others have a turn of the event loop, between two parts of long work."""
        await self._host.pause()

    async def change(self, decision: Callable[[RegistryState], tuple[T, Sequence[RegistryRecord]]]) -> T:
        """Decide and write the records of the decision; return its answer. Raises RegistryError."""
        async with self._deciding():
            await self._applied()
            answer, records = decision(self.state)
            await self._write(records)
        return answer

    @asynccontextmanager
    async def _deciding(self) -> AsyncIterator[None]:
        """Hold the turn. Who is refused because of a record hears of it once that is on disk: it might be lost yet."""
        async with self._turn:
            try:
                yield
            except RegistryError:
                await self._durable()
                raise

    async def _write(self, records: Sequence[RegistryRecord]) -> None:
        """Write the records and apply them, in this step of the event loop if they are few; return once durable."""
        if not records:
            await self._durable()
            return
        parts = [records[begin : begin + RECORDS_A_STEP] for begin in range(0, len(records), RECORDS_A_STEP)]
        encoded = []
        for number, part in enumerate(parts):
            if number:
                await self.pause()
            encoded.append(self._encoded(part))
        for number, part in enumerate(parts):
            if len(parts) > 1:
                await self.pause()
                await self._applied()
            self._append(part, encoded[number])
        await self._durable()

    def _encoded(self, records: Sequence[RegistryRecord]) -> list[SchemasRecord]:
        encoded = [encode(record) for record in records]
        if any(len(key) + len(value or b"") > self._log.record_bytes_max for key, value in encoded):
            raise schema_too_large()
        return encoded

    def _append(self, records: Sequence[RegistryRecord], encoded: Sequence[SchemasRecord]) -> None:
        try:
            timestamp_ms = self._log.append(encoded)
        except SchemasLogFailure as why:
            raise store_failed(f"Error while writing to the Kafka store: {why}") from why
        for record in records:
            self._apply(_with_timestamp(record, timestamp_ms))

    async def _durable(self) -> None:
        try:
            await self._log.durable()
        except SchemasLogFailure as why:
            raise store_failed(f"Error while writing to the Kafka store: {why}") from why

    # --- operations ---

    async def register(
        self, subject: str, wish: SchemaWish, *, normalizes: bool = False, force: bool = False
    ) -> StoredSchema:
        """Register a schema as a version of the subject, unless it is one; return the version. Raises RegistryError."""
        state = await self.current()
        normalizes = normalizes or state.config_in_scope(subject).get("normalize") is True
        if not has_defaults_or_overrides(state.config_in_scope(subject)):
            existing = await self._registered_already(subject, wish, normalizes=normalizes)
            if existing is not None:
                return existing
        async with self._deciding():
            while True:
                await self._applied()
                revision = self.state.revision
                registered = await self._decided(subject, wish, normalizes=normalizes, force=force)
                if self._log.is_applied and revision == self.state.revision:
                    break
            await self._write(registered.records)
        return registered.schema

    async def _registered_already(self, subject: str, wish: SchemaWish, *, normalizes: bool) -> StoredSchema | None:
        """Return the version that a request asks for, if it has been registered with this id and number."""
        if wish.is_empty:
            return None
        versions = None if wish.version >= 0 else [each for each in [self.state.latest(subject)] if each is not None]
        found = await self._version_of(subject, wish, normalizes=normalizes, deleted=False, among=versions)
        if found is None or (wish.schema_id >= 0 and wish.schema_id != found.schema_id):
            return None
        if wish.version <= 0 or found.version == wish.version:
            return found
        other = self.state.version(subject, wish.version)
        is_same = other is not None and not other.is_deleted and other.fingerprint == found.fingerprint
        return other if is_same and wish.schema_id >= 0 else None

    async def _decided(self, subject: str, wish: SchemaWish, *, normalizes: bool, force: bool) -> Registered:
        state = self.state
        check_mode(state, subject, wish)
        config, imports = state.config_in_scope(subject), is_import(state.mode_in_scope(subject))
        undeleted = [each for each in state.versions(subject) if not each.is_deleted]
        if not imports:
            previous = undeleted[-1] if undeleted else None
            wish = filled(config, wish, previous, next_version(state.versions(subject)))
        candidate = await self._candidate(
            subject, wish, normalizes=normalizes and not imports, is_new=wish.schema_id < 0
        )
        known = known_version(state, subject, wish, candidate)
        if known is not None:
            return Registered(known)
        is_checked = not imports and not force
        sources = self._sources(undeleted)

        def examine() -> Examined:
            return examined(config, wish, candidate, undeleted, self._parsed_among(sources), is_checked=is_checked)

        compared = versions_to_check(config, candidate, undeleted) if is_checked else []
        seen = await self._beside(self._size(candidate, compared, sources), examine)
        return Registered(seen.equal) if seen.equal is not None else decide(state, subject, wish, candidate, seen)

    async def look_up(
        self, subject: str, wish: SchemaWish, *, normalizes: bool = False, deleted: bool = False
    ) -> StoredSchema | None:
        """Return the version of the subject that has this schema; for a name without a context, of any context."""
        state = await self.current()
        normalizes = normalizes or state.config_in_scope(subject).get("normalize") is True
        for there in state.same_named(subject):
            if there == subject or self.state.has_subjects(there, deleted=True):
                found = await self._look_up_in(there, wish, normalizes=normalizes, deleted=deleted)
                if found is not None:
                    return found
        return None

    async def _look_up_in(
        self, subject: str, wish: SchemaWish, *, normalizes: bool, deleted: bool
    ) -> StoredSchema | None:
        if wish.is_empty:
            return None
        found = await self._version_of(subject, wish, normalizes=normalizes, deleted=deleted)
        previous = self.state.latest(subject)
        if found is not None or previous is None:
            return found
        full = filled(self.state.config_in_scope(subject), wish, previous, None)
        if full == wish:
            return None
        return await self._version_of(subject, full, normalizes=normalizes, deleted=deleted)

    async def _version_of(
        self,
        subject: str,
        wish: SchemaWish,
        *,
        normalizes: bool,
        deleted: bool,
        among: Sequence[StoredSchema] | None = None,
    ) -> StoredSchema | None:
        candidate = await self._candidate(subject, wish, normalizes=normalizes, is_new=False)
        if among is None:
            found = version_with_fingerprint(self.state, subject, candidate, deleted=deleted)
            if found is not None:
                return found
            among = [each for each in self.state.versions(subject) if deleted or not each.is_deleted]
        if not among:
            return None
        versions, sources = among, self._sources(among)
        parsed = self._parsed_among(sources)
        return await self._beside(
            self._size(candidate, (), sources), lambda: equal_version(candidate, versions, parsed)
        )

    async def incompatibilities(
        self, subject: str, wish: SchemaWish, versions: Sequence[StoredSchema], *, normalizes: bool = False
    ) -> list[str]:
        """Return why a schema is not compatible with versions of the subject, in their order. Raises RegistryError."""
        if wish.is_empty:
            raise invalid_schema("Empty schema")
        config = self.state.config_in_scope(subject)
        normalizes = normalizes or config.get("normalize") is True
        candidate = await self._candidate(subject, wish, normalizes=normalizes, is_new=True)
        sources = self._sources(versions)
        return await self._beside(
            self._size(candidate, versions_to_check(config, candidate, versions), sources),
            lambda: incompatibility_messages(config, candidate, versions, self._parsed_among(sources)),
        )

    async def why_not_readable(self, reader: StoredSchema, writer: StoredSchema) -> Sequence[Incompatibility]:
        """Return why one version cannot read data of another one of its type, whatever the level; empty if it can.

        Raises RegistryError.
        """
        is_lenient = self.state.config_in_scope(reader.subject).get("compatibilityPolicy") == "LENIENT"
        sources = [source_of_stored(self.state, each) for each in (reader, writer)]

        def compare() -> Sequence[Incompatibility]:
            own, other = (self._schemas.parsed(source) for source in sources)
            return own.incompatibilities(other, lenient=is_lenient)

        return await self._beside(sum(source.characters for source in sources), compare)

    async def formatted(self, schema: StoredSchema, format_name: str) -> str:
        """Return the text of a version in a format of the API. Raises RegistryError."""
        if not format_name.strip():
            return schema.content.text
        source = source_of_stored(self.state, schema)
        return await self._beside(source.characters, lambda: self._schemas.parsed(source).formatted_text(format_name))

    # --- parsing ---

    async def _candidate(self, subject: str, wish: SchemaWish, *, normalizes: bool, is_new: bool) -> SchemaCandidate:
        if wish.is_empty:
            raise invalid_schema("Empty schema")
        source = source_of_wish(self.state, subject, wish, is_new=is_new)
        return await self._beside(
            source.characters,
            lambda: candidate_of(wish, source, self._schemas.parsed(source), normalizes=normalizes),
        )

    def _sources(self, versions: Iterable[StoredSchema]) -> dict[tuple[str, int], SchemaSource]:
        """Return what parsing needs; without the versions whose references are missing."""
        found = {}
        for version in versions:
            try:
                found[version.subject, version.version] = source_of_stored(self.state, version)
            except RegistryError:
                continue  # of another producer: it is neither equal nor comparable
        return found

    def _parsed_among(self, sources: dict[tuple[str, int], SchemaSource]) -> Callable[[StoredSchema], ParsedSchema]:
        def parsed(version: StoredSchema) -> ParsedSchema:
            source = sources.get((version.subject, version.version))
            if source is None:
                raise invalid_schema(f"the references of version {version.version} are missing")
            return self._schemas.parsed(source)

        return parsed

    def _size(
        self, candidate: SchemaCandidate, compared: Sequence[StoredSchema], sources: dict[tuple[str, int], SchemaSource]
    ) -> int:
        """Return how many characters are parsed or compared."""
        to_parse = sum(source.characters for source in sources.values() if self._schemas.kept(source) is None)
        return to_parse + sum(len(candidate.content.text) + len(version.content.text) for version in compared)

    async def _beside(self, characters: int, work: Callable[[], T]) -> T:
        """Do the work: at once if it is short, else in a thread."""
        return work() if characters <= AT_ONCE_CHARACTERS_MAX else await self._host.beside(work)


def _with_timestamp(record: RegistryRecord, timestamp_ms: int) -> RegistryRecord:
    if isinstance(record, SchemaRecord) and record.schema is not None:
        return record._replace(schema=record.schema._replace(timestamp_ms=timestamp_ms))
    return record
