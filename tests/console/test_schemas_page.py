"""The pages of the schema registry in a browser, for schemas that a client registers, and a message that has one."""

import json
import urllib.request

from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from tests.support.console.scene import MARKUP, Scene
from tests.support.console.served import Served


def register(served: Served, subject: str, *fields: str) -> int:
    """Register an Avro record with these fields; its id."""
    schema = {"type": "record", "name": "R", "fields": [{"name": each, "type": "string"} for each in fields]}
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    address = f"http://{served.registry}/subjects/{subject}/versions"
    headers = {"content-type": "application/vnd.schemaregistry.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=30) as answer:
        found: int = json.loads(answer.read())["id"]
    return found


def test_versions_are_compared_and_a_message_leads_to_its_schema(page: Page, served: Served, scene: Scene) -> None:
    register(served, "parcels-value", "id", "city")
    schema_id = register(served, "parcels-value", "id")
    text = MARKUP.encode()
    value = b"\0" + schema_id.to_bytes(4) + bytes([2 * len(text)]) + text
    producer = Producer({"bootstrap.servers": scene.address})
    producer.produce("parcels", value=value, key=b"framed", partition=0)
    producer.flush(30)

    page.goto("/console/topics/parcels/0/messages")
    expect(page.get_by_role("cell", name=f'{{"id": "{MARKUP}"}}').first).to_be_visible()
    page.get_by_role("link", name="parcels-value version 2").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Schema {schema_id}")
    page.get_by_role("link", name="Schemas").first.click()
    page.get_by_role("link", name="parcels-value").click()
    expect(page.get_by_text("compatible: BACKWARD", exact=True)).to_be_visible()
    expect(page.get_by_text("A reader with version 1 cannot read all that version 2 wrote")).to_be_visible()
    expect(page.locator("tr.removed", has_text="city")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('table th:not([scope])').length") == 0
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
