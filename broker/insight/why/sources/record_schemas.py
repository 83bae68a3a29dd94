"""Facts about the schemas of a record: which one its key and its value have, in Confluent's wire format.

Loaded only where a registry is served.
"""

from __future__ import annotations

from asyncio import ensure_future
from typing import TYPE_CHECKING

from barnabas.broker.insight.why.rules.record_schemas import SchemaFacts
from barnabas.broker.runtime.scheduler import Work
from barnabas.protocol.records.record import BatchRecord, iter_records_with_pauses
from barnabas.registry.decisions.errors import RegistryError
from barnabas.registry.decisions.message_versions import version_of_message
from barnabas.registry.decoding.framing import KEY_HEADER, VALUE_HEADER, framed_part
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.insight.why.sources.registry_source import ServedRegistry
    from barnabas.registry.state.registry_state import RegistryState
    from barnabas.storage.log.log import PartitionLog

_RECORDS_A_STEP = 200


def record_schemas(served: ServedRegistry, log: PartitionLog, offset: int) -> Work[tuple[SchemaFacts, ...]]:
    """Return, in steps, the schemas of the record at an offset. Raises StorageError and DecodeError."""
    record = yield from _record_at(log, offset)
    if record is None or not _framed_parts(record):
        return ()
    opening = ensure_future(served.current())
    yield opening
    try:
        state = opening.result().state
    except RegistryError as why:
        return tuple(SchemaFacts(part, name, trouble=why.message) for part, _, _, name in _framed_parts(record))
    return tuple(
        _facts(state, log.topic, part, schema_id, guid, name) for part, schema_id, guid, name in _framed_parts(record)
    )


def _record_at(log: PartitionLog, offset: int) -> Steps[BatchRecord | None]:
    for number, record in enumerate(iter_records_with_pauses(log.read_own(offset, 1))):
        if record is not None and record.offset == offset:
            return record
        if record is None or number % _RECORDS_A_STEP == _RECORDS_A_STEP - 1:
            yield
    return None


def _framed_parts(record: BatchRecord) -> list[tuple[str, int | None, str | None, str]]:
    """Return key and value, as far as they are in the format: which, its id or guid, and how a sentence names it."""
    found = []
    for part, data, name in (("key", record.key, KEY_HEADER), ("value", record.value, VALUE_HEADER)):
        message = framed_part(data, record.headers, name)
        if message is not None:
            found.append((part, message.schema_id, message.guid, message.schema_name))
    return found


def _facts(
    state: RegistryState, topic: str, part: str, schema_id: int | None, guid: str | None, name: str
) -> SchemaFacts:
    version = version_of_message(state, topic, schema_id, guid, is_key=part == "key")
    if version is None:
        return SchemaFacts(part, name)
    content = version.content
    return SchemaFacts(
        part, name, version.subject, version.version, version.schema_id, content.schema_type, version.is_deleted
    )
