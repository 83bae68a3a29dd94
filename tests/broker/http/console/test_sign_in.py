"""Who may look at the console, and who may act there."""

from typing import Any

import pytest

from barnabas.broker.http.console.rendering import STATIC
from barnabas.broker.http.control.admission import Admission
from tests.support.console.world import Console
from tests.support.worlds.broker import BrokerWorld

FOLLOWED = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld()


async def status(console: Console, method: str = "GET", path: str = "/transactions", **headers: str) -> int:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return (await console.client.request(method, f"/console{path}", headers=sent)).status_code


async def test_another_machine_and_another_name_for_this_one_do_not_see_anything(world: BrokerWorld) -> None:
    assert await status(Console(world, is_local=False)) == 403
    near = Console(world)
    assert await status(near) == 200
    assert await status(near, host="evil.example") == 403
    assert await status(near, path="/static/console.css", host="evil.example") == 403


async def test_a_link_may_be_followed_and_nothing_else_comes_from_another_site(world: BrokerWorld) -> None:
    console = Console(world)
    assert await status(console, **FOLLOWED) == 200
    assert await status(console, **{**FOLLOWED, "sec-fetch-dest": "iframe"}) == 403
    assert await status(console, **{**FOLLOWED, "sec-fetch-mode": "no-cors"}) == 403
    assert await status(console, "POST", "/transaction/abort", **FOLLOWED) == 403
    assert await status(console, "POST", "/transaction/abort", origin="http://evil.example") == 403
    assert await status(console, "POST", "/transaction/abort", origin="null") == 403
    assert await status(console, origin="http://evil.example") == 403


async def test_the_token_is_reported_once_and_a_cookie_that_is_not_it_is_kept(world: BrokerWorld) -> None:
    console = Console(world, Admission("secret"), is_local=False)
    page = await console.get("/transaction", 401, id="a&b")
    assert 'value="/console/transaction?id=a%26b"' in page
    assert "Sign in" in await console.text("/sign-in", 401)
    wrong = await console.post("/sign-in", 401, token="wrong", next="/console/topics")
    assert "the token is wrong" in wrong.text
    right = await console.post("/sign-in", 303, token="secret", next="/console/transactions")
    assert right.headers["location"] == "/console/transactions"
    cookie = right.headers["set-cookie"]
    assert "secret" not in cookie
    assert cookie.endswith("; Path=/console; HttpOnly; SameSite=Lax")
    assert cookie.startswith("barnabas-console-49153=")
    assert "There are no transactional ids" in await console.text("/transactions")
    assert await status(console, "POST", "/transaction/abort", origin="http://evil.example") == 403
    console.client.cookies.clear()
    assert await status(console) == 401
    assert await status(console, authorization="Bearer secret") == 200
    assert await status(console, cookie="barnabas-console-49153=x; ;;=") == 401


@pytest.mark.parametrize("elsewhere", ["http://evil.example", "//evil.example", "/console/sign-in", "", "/metrics"])
async def test_a_signed_in_user_stays_in_the_console(world: BrokerWorld, elsewhere: str) -> None:
    console = Console(world, Admission("secret"))
    answer = await console.post("/sign-in", 303, token="secret", next=elsewhere)
    assert answer.headers["location"] == "/console"


async def test_a_missing_resource_is_a_page_with_a_sentence(world: BrokerWorld) -> None:
    console = Console(world)
    assert "there is no such page" in await console.text("/nowhere", 404)
    assert "there is no such page" in await console.text("/static/application.py", 404)
    assert "does not support that method" in await console.text("/transaction/abort", 405)
    long: Any = {f"a{number}": "1" for number in range(60)}
    assert "is malformed" in await console.text("/transactions", 400, **long)
    for name, content_type in STATIC.items():
        file = await console.client.get(f"/console/static/{name}")
        assert (file.status_code, file.headers["content-type"]) == (200, content_type)
