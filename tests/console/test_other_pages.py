"""Messages, groups, clients and the clock in a browser, and what markup in records and names does: nothing."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.console.scene import MARKUP, Scene
from tests.support.console.served import Served

PATHS = (
    "",
    "/transactions",
    "/topics",
    "/topics/orders",
    "/topics/orders/messages",
    "/groups",
    "/subjects",
    "/why",
    "/clients",
    "/health",
    "/security",
    "/settings",
    "/faults",
    "/clock",
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_shown_in_light_and_dark_with_headings_and_labels(page: Page, path: str, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(f"/console{path}")
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    expect(page.get_by_role("main")).to_be_visible()
    unlabelled = (
        "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter(it => !it.labels.length)"
    )
    assert page.evaluate(f"{unlabelled}.length") == 0
    assert page.evaluate("document.querySelectorAll('table th:not([scope])').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (paper == "rgb(22, 24, 28)") is (scheme == "dark")


@pytest.mark.parametrize(
    "path",
    [
        *PATHS,
        "/topics?which=all",
        "/topics/orders/0",
        "/topics/orders/0?from=0&at=0",
        "/topics/orders/0/messages",
        "/topics/orders/0/records/0",
        "/group?id=order-readers",
        "/transaction?id=checkout-7",
        "/why?ask=consumer&group=order-readers",
        "/settings?which=all",
        "/faults?point=transaction.marker_written",
    ],
)
def test_no_page_scrolls_sideways_on_a_phone(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/console{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_message_is_searched_read_and_shown_as_text_whatever_is_in_it(page: Page) -> None:
    page.goto("/console/topics/payments/1/messages")
    page.get_by_label("From").fill("earliest")
    page.get_by_label("Contains").fill(MARKUP)
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name=MARKUP, exact=True).first).to_be_visible()
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Offset")
    expect(page.locator("pre").first).to_contain_text(MARKUP)
    assert page.locator("main img").count() == 0


def test_a_record_that_is_produced_is_seen_by_a_consumer(page: Page, scene: Scene) -> None:
    page.goto("/console/topics/shipments/0/messages")
    page.get_by_label("Key (empty: null)").fill("k")
    page.get_by_label("Value", exact=True).fill("from a browser")
    page.get_by_role("button", name="Produce to shipments-0").click()
    expect(page.get_by_role("heading", name="Offset 0")).to_be_visible()
    assert scene.values("shipments", 1) == [b"from a browser"]


def test_a_group_and_its_client_are_found(page: Page) -> None:
    page.goto("/console/groups")
    page.get_by_role("link", name="order-readers").click()
    expect(page.get_by_role("cell", name="orders-0, orders-1, orders-2")).to_be_visible()
    page.goto("/console/clients")
    expect(page.get_by_text("confluent-kafka-python").first).to_be_visible()
    expect(page.get_by_text(f"{MARKUP}-client").first).to_be_visible()


def test_a_heading_sorts_its_table(page: Page) -> None:
    page.goto("/console/clients")
    page.get_by_role("link", name="Library").click()
    page.wait_for_url("**/console/clients?sort=library")
    expect(page.get_by_role("columnheader", name="Library")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("link", name="Library").click()
    page.wait_for_url("**/console/clients?sort=-library")


def test_what_hangs_is_found_and_why(page: Page) -> None:
    page.goto("/console/why")
    page.get_by_role("link", name="Transactional id checkout-7").click()
    expect(page.get_by_role("heading", name="checkout-7")).to_be_visible()
    page.goto("/console/group?id=order-readers")
    page.get_by_role("link", name="Why does a consumer of it get nothing?").click()
    page.wait_for_url("**/console/why?ask=consumer&group=order-readers")
    expect(page.get_by_role("heading", name="Consumers of group order-readers")).to_be_visible()
    expect(page.get_by_text("They are held by transactional id checkout-7").first).to_be_visible()
    page.get_by_label("What became of this record").fill("orders:0:0")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Every consumer can see it.")).to_be_visible()
    page.get_by_text("The evidence").click()
    expect(page.locator("pre")).to_contain_text('"offset": 0')


def test_the_clock_is_frozen_and_runs_again(page: Page) -> None:
    page.goto("/console/clock")
    page.get_by_role("button", name="Freeze").click()
    expect(page.get_by_role("link", name="clock frozen")).to_be_visible()
    told = page.locator("dd").first
    before = told.inner_text()
    page.get_by_role("button", name="+ 1s", exact=True).click()
    expect(told).not_to_have_text(before)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("running", exact=True)).to_be_visible()


def test_a_commit_is_held_up_and_let_go_on_from_the_drawing_of_its_steps(page: Page, scene: Scene) -> None:
    producer = scene.begin("held-up")
    page.goto("/console/faults")
    step = page.get_by_role("link", name="transaction.marker_written:")
    step.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/faults?point=transaction.marker_written#arm")
    assert '"point": "transaction.marker_written"' in page.get_by_label("A fault or a plan").input_value()
    page.goto("/console/transaction?id=held-up")
    page.get_by_role("link", name="Arm a fault that pauses its end between two markers").click()
    assert '"transactional_id": "held-up"' in page.get_by_label("A fault or a plan").input_value()
    page.locator("#arm-plan").click()
    expect(step).to_have_accessible_name(re.compile("pause, fired 0 of 1"))
    producer.commit_transaction(30)
    expect(step).to_have_accessible_name(re.compile("held-up at orders-0 stands here"))
    expect(page.locator("svg.sequence .step.open")).to_have_count(1)
    page.get_by_role("button", name="Release what").click()
    page.goto("/console/transaction?id=held-up")
    expect(page.get_by_text("CompleteCommit", exact=True)).to_be_visible()
    expect(page.get_by_text("Every partition has its marker, and readers see the commit.")).to_be_visible()
    page.goto("/console/faults")
    page.get_by_role("button", name="Disarm all").click()
    expect(page.get_by_text("No fault is armed.")).to_be_visible()


def test_without_control_there_is_nothing_to_press(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with Served(tmp_path_factory.mktemp("read-only") / "data", control=False) as served:
        page = browser.new_page()
        page.goto(f"{served.console}/transactions")
        expect(page.get_by_text("read-only")).to_be_visible()
        page.goto(f"{served.console}/clock")
        expect(page.get_by_role("button")).to_have_count(0)
        page.close()


def test_a_token_is_asked_for_once(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("token") / "data"
    with Served(data, "--control-token", "a secret of some length") as served:
        page = browser.new_page()
        page.goto(f"{served.console}/groups")
        page.get_by_label("The token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("the token is wrong")
        page.get_by_label("The token").fill("a secret of some length")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Groups")).to_be_visible()
        page.goto(f"{served.console}/topics")
        expect(page.get_by_role("heading", name="Topics")).to_be_visible()
        page.close()


def test_a_transaction_of_the_console_stays_open_until_it_is_committed(page: Page) -> None:
    page.goto("/console/topics/shipments/0/messages")
    page.get_by_label("Value", exact=True).fill("in a transaction")
    page.get_by_label("In the transaction barnabas-console").check()
    page.get_by_role("button", name="Produce to shipments-0").click()
    expect(page.get_by_role("heading", name="barnabas-console")).to_be_visible()
    expect(page.get_by_text("Ongoing", exact=True)).to_be_visible()
    page.get_by_role("button", name="Commit the transaction").click()
    expect(page.get_by_text("CompleteCommit", exact=True)).to_be_visible()
    page.goto("/console/topics/shipments/0/messages?isolation=read_committed")
    expect(page.get_by_role("cell", name="in a transaction", exact=True)).to_be_visible()


def test_a_topic_is_created_changed_and_deleted_by_forms(page: Page) -> None:
    page.goto("/console/topics")
    page.get_by_label("Name", exact=True).fill("made-here")
    page.get_by_label("Partitions", exact=True).fill("2")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("made-here")
    page.get_by_label("Setting", exact=True).fill("retention.ms")
    page.get_by_label("Value", exact=True).fill("1000")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("dd.set")).to_have_text("1000")
    page.get_by_role("button", name="Add partitions").click()
    expect(page.get_by_role("link", name="made-here-2", exact=True)).to_be_visible()
    page.get_by_label("Type its name to confirm").fill("made-here")
    page.get_by_role("button", name="Delete the topic").click()
    expect(page).to_have_url(re.compile("/console/topics$"))
    expect(page.get_by_role("link", name="made-here")).to_have_count(0)
