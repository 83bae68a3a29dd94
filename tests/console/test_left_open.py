"""A page that is left open for long: the browser holds no more than before, the broker nothing when it is closed."""

import os
from pathlib import Path

from playwright.sync_api import CDPSession, Page, Request, Route, expect

from tests.support.console.scene import Scene
from tests.support.console.served import Served
from tests.support.waiting import until

IN_A_STREAM = 50
BEFORE, AFTER = 100, 600
HEAP_BYTES_MAX = 500_000
NODES_MAX = 300
"""More than before; one update has as many. What is thrown away is collected now and then."""
OPENED = 20


class Updates:
    """A live part of the real page, sent again and again with another number, as quickly as the browser takes it."""

    def __init__(self, part: str) -> None:
        self._part = part
        self.sent = 0
        self.limit = 0

    def answer(self, route: Route, request: Request) -> None:
        """To an EventSource, which connects again when it has had all of a stream."""
        if "text/event-stream" not in request.headers.get("accept", ""):
            route.continue_()
            return
        numbers = range(self.sent + 1, min(self.sent + IN_A_STREAM, self.limit) + 1)
        self.sent += len(numbers)
        sent = "".join(self._event(number) for number in numbers)
        route.fulfill(body=f"retry: 1\n\n{sent}", content_type="text/event-stream")

    def _event(self, number: int) -> str:
        lines = f'{self._part}<p id="number">update {number}</p>'.splitlines()
        return "".join(f"data: {line}\n" for line in lines) + "\n"


def held(session: CDPSession) -> dict[str, int]:
    """What the browser holds of the page, what is thrown away apart."""
    session.send("HeapProfiler.collectGarbage")
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in metrics}


def test_a_page_that_was_sent_hundreds_of_updates_holds_no_more(page: Page, scene: Scene) -> None:
    path = "/console/transactions?which=open"
    part = page.request.get(path, headers={"x-part": "live"}).text()
    updates = Updates(part)
    page.route("**/console/transactions?*", updates.answer)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    updates.limit = BEFORE
    page.goto(path)
    expect(page.locator("#number")).to_have_text(f"update {BEFORE}", timeout=60_000)
    before = held(session)
    updates.limit = AFTER
    expect(page.locator("#number")).to_have_text(f"update {AFTER}", timeout=60_000)
    after = held(session)
    grown = {name: after[name] - before[name] for name in ("Nodes", "JSHeapUsedSize", "JSEventListeners", "Documents")}
    assert grown["Nodes"] <= NODES_MAX
    assert grown["JSHeapUsedSize"] <= HEAP_BYTES_MAX
    assert grown["JSEventListeners"] <= 0
    assert grown["Documents"] <= 1


def test_pages_that_were_closed_leave_nothing_in_the_broker(page: Page, scene: Scene, served: Served) -> None:
    def sockets() -> int:
        files = Path(f"/proc/{served.process.pid}/fd")
        return sum(os.readlink(each).startswith("socket:") for each in files.iterdir() if each.is_symlink())

    page.goto("/console/clock")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.goto("about:blank")
    before = sockets()
    for _ in range(OPENED):
        opened = page.context.new_page()
        opened.goto("/console/transaction?id=checkout-7")
        expect(opened.get_by_text("live", exact=True)).to_be_visible()
        opened.close()
    until(lambda: sockets() <= before)
