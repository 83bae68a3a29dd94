"""The pages of the schema registry, and the schemas of messages, over a whole broker in memory."""

import json
from typing import Any

import pytest

from barnabas.broker.http.console.pages.schemas import SUBJECTS_MAX
from barnabas.broker.http.registry.listener import RegistryListener
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.registry.decisions.configuring import update_config
from barnabas.registry.decisions.deleting import delete_subject
from barnabas.registry.decisions.parsing import SchemaWish
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.stored_schema import SchemaReference
from tests.support.console.world import Console, seen
from tests.support.inspected_broker import Inspected

MARKUP = "<script>alert(1)</script>"


class WithRegistry(Console):
    """A console over a broker with a registry."""

    def __init__(self, world: Inspected) -> None:
        self.listener = RegistryListener(world.services, world.machine_clock)
        super().__init__(world, registry=lambda: self.listener)

    async def registry(self) -> SchemaRegistry:
        return await self.listener.current()

    async def register(self, subject: str, schema: Any, *references: SchemaReference, of: str = "AVRO") -> int:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        found = await (await self.registry()).register(subject, SchemaWish(of, text, references))
        return found.schema_id


def record(*fields: Any) -> dict[str, Any]:
    """An Avro record with these fields: a name, or a name with more."""
    names = [each if isinstance(each, dict) else {"name": each, "type": "string"} for each in fields]
    return {"type": "record", "name": "Order", "fields": names}


@pytest.fixture
async def console(world: Inspected) -> WithRegistry:
    return WithRegistry(world)


async def test_without_a_registry_there_are_no_pages_of_it_and_no_entry(world: Inspected) -> None:
    console = Console(world)
    assert ">Schemas<" not in await console.get("/topics")
    assert "there is no schema registry" in await console.text("/subjects", 404)


async def test_subjects_are_listed_sorted_filtered_and_deleted_ones_on_request(console: WithRegistry) -> None:
    assert "There are no subjects yet" in await console.text("/subjects")
    await console.register("orders-value", record("id"))
    await console.register("orders-value", record("id", {"name": "note", "type": "string", "default": ""}))
    await console.register(f"{MARKUP}/%2F-value", '"string"')
    await console.register("gone-value", '"long"')
    registry = await console.registry()
    await registry.change(lambda state: update_config(state, "orders-value", {"compatibilityLevel": "FULL"}))
    await registry.change(lambda state: delete_subject(state, "gone-value", permanent=False))
    html = await console.get("/subjects", sort="-versions")
    text = seen(html)
    assert "Schemas</a>" in html
    assert MARKUP not in html
    assert "orders-value 2 2 AVRO FULL 2" in text
    assert text.index("orders-value 2") < text.index("%2F-value 1")
    assert "gone-value" not in text
    assert "gone-value deleted 1 4 AVRO BACKWARD 0 and 1 deleted" in await console.text("/subjects", which="all")
    assert "No subject has nothing in its name." in await console.text("/subjects", q="nothing")
    assert MARKUP not in await console.get("/subject", name=f"{MARKUP}/%2F-value")
    assert "deleted" in await console.text("/subject", name="gone-value")
    assert "there is no subject other" in await console.text("/subject", 404, name="other")


async def test_many_subjects_are_paged(console: WithRegistry) -> None:
    await console.register("s000", '"string"')
    state = (await console.registry()).state
    (schema,) = state.versions("s000")
    for number in range(1, SUBJECTS_MAX + 1):
        state._put(schema._replace(subject=f"s{number:03}"))
    assert "s199" in (first := await console.get("/subjects"))
    assert "s200" not in first
    assert 'rel="next" href="/console/subjects?first=200&amp;which=active"' in first
    assert "s200" in (second := await console.get("/subjects", first=200))
    assert "s199" not in second


async def test_two_versions_stand_side_by_side_with_what_changed_and_why_it_is_not_compatible(
    console: WithRegistry,
) -> None:
    await console.register("orders-value", record("id", *(f"f{number}" for number in range(20)), "city"))
    registry = await console.registry()
    await registry.change(lambda state: update_config(state, "orders-value", {"compatibilityLevel": "NONE"}))
    await console.register("orders-value", record("id", *(f"f{number}" for number in range(20)), "town"))
    assert "nothing is checked" in await console.text("/subject", name="orders-value")
    await registry.change(lambda state: update_config(state, "orders-value", {"compatibilityLevel": "BACKWARD"}))
    html = await console.get("/subject", name="orders-value")
    assert "&#34;name&#34;: &#34;<del>city</del>&#34;" in html
    assert "&#34;name&#34;: &#34;<ins>town</ins>&#34;" in html
    text = seen(html)
    assert "equal lines" in text
    assert "Version 2 beside version 1 not compatible: BACKWARD" in text
    assert "A reader with version 2 cannot read all that version 1 wrote." in text
    assert "READER_FIELD_MISSING_DEFAULT_VALUE : The field &#39;town&#39; at path &#39;/fields/21&#39; in" in text
    assert "A reader with version 1 cannot read all that version 2 wrote, which BACKWARD does not ask for." in text
    assert "<del>" not in await console.get("/subject", name="orders-value", version=1)
    assert "there is no version 9 of it" in await console.text("/subject", 404, name="orders-value", version=9)
    await registry.change(lambda state: update_config(state, "orders-value", {"compatibilityLevel": "NONE"}))
    await console.register("orders-value", '{"type": "object"}', of="JSON")
    assert "They cannot be compared: Incompatible because" in await console.text("/subject", name="orders-value")


@pytest.mark.parametrize(
    ("level", "verdict", "new_reads_old", "old_reads_new"),
    [
        ("BACKWARD", "not compatible: BACKWARD", ".", ", which BACKWARD does not ask for."),
        ("FORWARD", "compatible: FORWARD", ", which FORWARD does not ask for.", "."),
        ("FULL_TRANSITIVE", "not compatible: FULL_TRANSITIVE", ".", "."),
    ],
)
@pytest.mark.parametrize("chosen", [{"version": 2, "against": 1}, {"version": 1, "against": 2}])
async def test_a_comparison_says_who_reads_what_whichever_version_is_chosen_first(
    console: WithRegistry, chosen: dict[str, int], level: str, verdict: str, new_reads_old: str, old_reads_new: str
) -> None:
    registry = await console.registry()
    await registry.change(lambda state: update_config(state, "s", {"compatibilityLevel": "NONE"}))
    await console.register("s", record("id"))
    await console.register("s", record("id", "city"))
    await registry.change(lambda state: update_config(state, "s", {"compatibilityLevel": level}))
    text = await console.text("/subject", name="s", **chosen)
    assert f"beside version {chosen['against']} {verdict}" in text
    assert f"A reader with version 2 cannot read all that version 1 wrote{new_reads_old}" in text
    assert f"A reader with version 1 reads what version 2 wrote{old_reads_new}" in text


async def test_a_schema_is_found_by_its_id_with_its_subjects_and_references(console: WithRegistry) -> None:
    await console.register("address", {"type": "record", "name": "Address", "fields": []})
    reference = SchemaReference("Address", "address", 1)
    used = await console.register("orders-value", record({"name": "to", "type": "Address"}), reference)
    await console.register("other-value", record({"name": "to", "type": "Address"}), reference)
    text = await console.text("/schema", id=used)
    assert "orders-value version 1 other-value version 1" in " ".join(text.split())
    assert "It refers to Address : address version 1" in text
    assert "It is referred to by orders-value version 1 other-value version 1" in await console.text("/schema", id=1)
    assert "there is no schema with the id 99" in await console.text("/schema", 404, id=99)
    assert "in the context .other" in await console.text("/schema", 404, id=1, context=".other")


async def test_messages_are_decoded_by_their_schema_id(console: WithRegistry) -> None:
    schema_id = await console.register("orders-value", record("id"))
    framed = b"\0" + schema_id.to_bytes(4)
    text = b'<b>"x"</b>'
    value = framed + bytes([2 * len(text)]) + text
    values = [value, framed + b"\x20cut", b"\0\0\0\0\x63none", b"\0\0"]
    batch = build_batch([NewRecord(b"k", each, (), 1_000) for each in values])
    console.world.services.partitions.append("orders", 0, batch)
    decoded = "{&#34;id&#34;: &#34;&lt;b&gt;\\&#34;x\\&#34;&lt;/b&gt;&#34;}"
    for path in ("/topics/orders/0/messages", "/topics/orders/messages"):
        html = await console.get(path)
        assert (
            f'{decoded} <a class="badge" href="/console/schema?id=1&amp;context=.">orders-value version 1</a>' in html
        )
        assert html.count('class="badge" href="/console/schema') == 2
    assert decoded not in await console.get("/topics/orders/0/messages", **{"as": "text"})
    pages = [seen(await console.get(f"/topics/orders/0/records/{offset}")) for offset in range(4)]
    assert "Schema id 1: orders-value version 1 Decoded { &#34;id&#34;: " in pages[0]
    assert "It is not decoded: " in pages[1]
    assert "whose schema has id 99, which the registry does not have" in pages[2]
    assert "chema" not in pages[3].replace("Schemas", "")
