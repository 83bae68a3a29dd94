"""A partition's log in a browser: zoomed and moved by wheel and keys, each view with an address."""

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect


def view(page: Page) -> tuple[int, int]:
    query = parse_qs(urlsplit(page.url).query)
    return int(query["from"][0]), int(query["to"][0])


def test_keys_zoom_and_move_and_the_address_follows(page: Page) -> None:
    page.goto("/console/topics/orders/0?from=0&to=80")
    page.locator("#strip").focus()
    page.keyboard.press("+")
    page.wait_for_url("**from=20&to=60")
    expect(page.locator("#strip")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**from=30&to=70")
    expect(page.get_by_role("heading", name="Offsets 30 to 69")).to_be_visible()
    page.keyboard.press("-")
    page.wait_for_url("**from=10&to=90")
    page.keyboard.press("0")
    page.wait_for_url("**/console/topics/orders/0?from=0")
    page.reload()
    expect(page.locator("#strip")).to_be_visible()


def test_the_wheel_zooms_around_the_pointer(page: Page) -> None:
    page.goto("/console/topics/orders/0?from=0&to=80")
    page.locator("#strip").hover()  # in its middle, once it stands still
    page.mouse.wheel(0, -400)
    page.wait_for_url(lambda url: "to=80" not in url)
    first, end = view(page)
    assert 0 < first < 40 < end < 80
    page.mouse.wheel(0, 4000)
    page.wait_for_url(lambda url: f"from={first}&" not in url)


def test_a_cell_tells_its_batch_and_what_is_open_is_open(page: Page) -> None:
    page.goto("/console/topics/orders/0")
    page.locator("svg.strip .cell.open").last.click()
    expect(page.get_by_text("readers of committed records stop before it")).to_be_visible()
    expect(page.locator(".cell.chosen")).to_have_count(1)
    assert "at=" in page.url
    page.get_by_role("textbox").fill("0")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Written outside of transactions")).to_be_visible()
