"""The registry over its log: what takes many records is written in steps, and each has seen what others wrote."""

import asyncio
import json
from collections.abc import Sequence

from barnabas.registry.registry_log import SchemasRecord
from barnabas.registry.schema_registry import RECORDS_A_STEP
from barnabas.registry.state.records import ConfigRecord, SchemaRecord, encode
from barnabas.registry.state.stored_schema import AVRO, SchemaContent, StoredSchema
from tests.support.registry_api import MemoryLog, RegistryApi
from tests.support.worlds.broker import turn

VERSIONS = 3 * RECORDS_A_STEP


class SteppedLog(MemoryLog):
    """A log that another producer appends to between two steps. `steps`: how many records each step has written."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []

    def append(self, records: Sequence[SchemasRecord]) -> int:
        timestamp_ms = super().append(records)
        self.steps.append(len(records))
        self.records.append(encode(ConfigRecord(f"other-{len(self.steps)}", {"compatibilityLevel": "FULL"})))
        return timestamp_ms


def deleted(version: int) -> SchemaRecord:
    content = SchemaContent(AVRO, (), None, None, f'{{"type":"fixed","name":"F","size":{version}}}')
    return SchemaRecord("s", version, StoredSchema("s", version, version, content, content.fingerprint, True))


async def test_a_deletion_of_many_versions_for_good_is_written_in_steps() -> None:
    api = RegistryApi(log := SteppedLog())
    log.records += [encode(deleted(version)) for version in range(1, VERSIONS + 1)]
    assert len(await api.done("DELETE", "/subjects/s?permanent=true")) == VERSIONS
    assert log.steps == [RECORDS_A_STEP] * 3
    assert await api.done("GET", "/subjects?deleted=true") == []
    assert [await api.done("GET", f"/config/other-{step}") for step in (1, 2, 3)] == [
        {"compatibilityLevel": "FULL"}
    ] * 3


async def test_an_import_that_clears_many_subjects_is_written_in_steps() -> None:
    api = RegistryApi(log := SteppedLog())
    log.records += [encode(deleted(version)) for version in range(1, VERSIONS + 1)]
    assert await api.done("PUT", "/mode", {"mode": "IMPORT"}) == {"mode": "IMPORT"}
    assert log.steps == [RECORDS_A_STEP] * 3 + [2]
    assert await api.done("GET", "/subjects?deleted=true") == []


async def test_versions_are_counted_as_deleted_one_by_one_and_with_their_subject() -> None:
    api = RegistryApi(MemoryLog())
    for default in (1, 2, 3):
        fields = [{"name": "f", "type": "int", "default": default}]
        schema = json.dumps({"type": "record", "name": "R", "fields": fields})
        await api.done("POST", "/subjects/s/versions", {"schema": schema})
    await api.done("DELETE", "/subjects/s/versions/1")
    await api.done("DELETE", "/subjects/s")
    assert api.registry.deleted == {AVRO: 3}


async def test_nobody_hears_of_a_record_that_could_not_be_synced() -> None:
    api = RegistryApi(log := MemoryLog())
    await api.register("s", "string")
    await api.done("DELETE", "/subjects/s/versions/1")
    log.sync_failure = "no space"
    for _ in range(2):
        assert (await api.refusal("DELETE", "/subjects/s/versions/1?permanent=true"))[0] == 50001
    log.sync_failure = None
    assert (await api.refusal("DELETE", "/subjects/s/versions/1?permanent=true"))[0] == 40401


async def test_a_schema_that_another_client_could_not_sync_is_not_acknowledged() -> None:
    api = RegistryApi(log := MemoryLog())
    async with api.registry._turn:
        both = [asyncio.ensure_future(api.ask("POST", "/subjects/s/versions", {"schema": '"int"'})) for _ in range(2)]
        await turn()
        log.sync_failure = "no space"
    assert [answer.status for answer in await asyncio.gather(*both)] == [500, 500]
    assert len(log.records) == 1
