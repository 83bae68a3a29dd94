"""Transactions in a browser, while a stock client runs them."""

from playwright.sync_api import Page, expect

from tests.support.console.scene import MARKUP, Scene


def test_an_open_transaction_is_found_looked_at_and_aborted_by_keys(page: Page, scene: Scene) -> None:
    producer = scene.begin("by-keys")
    page.goto("/console/transactions?which=open")
    link = page.get_by_role("link", name="by-keys")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="by-keys")).to_be_visible()
    expect(page.get_by_text("An ABORT marker is written into 2 partitions.")).to_be_visible()
    page.get_by_role("button", name="Abort the transaction").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name="Aborted: every partition has its marker.")).to_be_visible()
    expect(page.get_by_role("button", name="Abort the transaction")).to_have_count(0)
    producer.produce("orders", value=b"of a fenced producer", partition=0)
    producer.purge()
    producer.flush(1)


def test_a_page_that_is_open_shows_what_happens(page: Page, scene: Scene) -> None:
    producer = scene.begin("watched")
    page.goto("/console/transaction?id=watched")
    expect(page.get_by_text("Ongoing", exact=True)).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    nodes = page.evaluate("document.querySelectorAll('*').length")
    producer.commit_transaction(30)
    expect(page.get_by_text("CompleteCommit", exact=True)).to_be_visible()
    expect(page.get_by_role("cell", name="Committed: every partition has its marker.")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('*').length") < 2 * nodes


def test_markup_in_a_transactional_id_is_text(page: Page, scene: Scene) -> None:
    page.goto("/console/transactions")
    page.get_by_role("link", name=MARKUP).click()
    expect(page.get_by_role("heading", name=MARKUP)).to_be_visible()
    assert page.locator("main img").count() == 0


def test_the_keyboard_reaches_the_content_first(page: Page) -> None:
    page.goto("/console/transactions")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for place in ("header", "nav", "main", "footer"):
        expect(page.locator(place).first).to_be_visible()
