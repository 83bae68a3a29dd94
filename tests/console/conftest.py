"""One broker with a scene of stock clients on it, and one browser, for all tests; a page of its own for each."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.console.browser import chromium
from tests.support.console.scene import Scene
from tests.support.console.served import Served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("console") / "data", "--registry=127.0.0.1:0") as it:
        yield it


@pytest.fixture(scope="session")
def scene(served: Served) -> Iterator[Scene]:
    with Scene(served.address) as it:
        yield it


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as it:
        yield it


@pytest.fixture
def page(browser: Browser, served: Served, scene: Scene) -> Iterator[Page]:
    """An empty page, on which nothing may go wrong unseen: no script fails, nothing is refused by the policy."""
    context = browser.new_context(base_url=f"http://{served.http}")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.extend([message.text] if message.type == "error" else []))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    yield page
    context.close()
    assert not wrong
