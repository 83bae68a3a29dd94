"""What a page of a group and an answer of `why` let a user change: offsets that are reset, a transaction's abort."""

from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from tests.support.console.scene import Scene


def test_offsets_are_reset_on_the_page_of_a_group_without_members(page: Page, scene: Scene) -> None:
    values: list[bytes | None] = [b"return %d" % number for number in range(3)]
    producer = Producer({"bootstrap.servers": scene.address})
    for value in values:
        producer.produce("returns", value=value)
    assert producer.flush(30) == 0
    assert scene.values("returns", 3) == values
    page.goto("/console/group?id=values-of-returns")
    row = page.get_by_role("row", name="returns-0")
    expect(row.get_by_role("cell").nth(1)).to_have_text("3")
    page.get_by_label("Topic", exact=True).fill("returns")
    page.get_by_label("To earliest, latest, an offset or a time").fill("1")
    page.get_by_role("button", name="Reset").click()
    expect(row.get_by_role("cell").nth(1)).to_have_text("1")
    expect(row.get_by_role("cell").nth(2)).to_have_text("2")
    assert scene.values("returns", 2) == values[1:]


def test_an_answer_of_why_aborts_the_transaction_that_it_names(page: Page, scene: Scene) -> None:
    scene.begin("left-open")
    page.goto("/console/why?ask=producer&transactional_id=left-open")
    abort = page.get_by_role("button", name="Abort it")
    expect(abort).to_be_hidden()
    page.get_by_text("Abort the transaction of left-open").click()
    expect(page.get_by_text("An ABORT marker is written into 2 partitions.")).to_be_visible()
    abort.click()
    expect(page.get_by_text("Abort the transaction of left-open")).to_have_count(0)
    expect(page).to_have_url("/console/why?ask=producer&transactional_id=left-open")
    page.goto("/console/transaction?id=left-open")
    expect(page.get_by_text("CompleteAbort", exact=True)).to_be_visible()
