"""/control over a whole broker in memory, held against its own description."""

from itertools import zip_longest
from typing import Any

import httpx
import jsonschema
import pytest

from barnabas.broker.http.asgi import AsgiApp, Mounted, asgi
from barnabas.broker.http.control.admission import Admission
from barnabas.broker.http.control.application import application
from barnabas.broker.http.control.clock_api import clock_routes
from barnabas.broker.http.control.faults_api import faults_routes
from barnabas.broker.http.control.openapi import document
from barnabas.broker.http.control.route_group import RouteGroup
from barnabas.broker.http.control.share_locks_api import share_locks_routes
from barnabas.broker.http.control.trace_api import trace_routes
from barnabas.broker.http.control.why_api import why_routes
from barnabas.broker.insight.why.why import Why
from tests.support.worlds.broker import BrokerWorld

DOCUMENT = document()
DAY_MS = 86_400_000


def rooms_of(world: BrokerWorld) -> list[RouteGroup]:
    """As broker_view.py has them."""
    broker = world.broker
    return [
        clock_routes(broker.time_control.get()),
        faults_routes(broker.faults.get()),
        share_locks_routes(world.services),
        trace_routes(broker.history.get),
        why_routes(Why(world.services)),
    ]


class Control:
    """Asks as httpx does; every answer is held against the description."""

    def __init__(self, world: BrokerWorld, admission: Admission, *, is_local: bool = True) -> None:
        self.world = world
        app: Any = application(rooms_of(world), admission)

        async def mounted(scope: Any, receive: Any, send: Any) -> None:
            scope["barnabas.peer_is_local"] = is_local
            await app(scope, receive, send)

        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(mounted), base_url="http://localhost:49153")

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        answer = await self._client.request(method, path, **more)
        found = answer.json()
        operation = described(path).get(method.lower())
        if operation is not None:
            told = operation["responses"][str(answer.status_code)]
            check(found, told["content"][answer.headers["content-type"]]["schema"])
        return answer.status_code, found

    async def change(self, body: Any, **more: Any) -> tuple[int, Any]:
        check(body, {"$ref": "#/components/schemas/Change"})
        return await self.ask("POST", "/control/clock", json=body, **more)


def described(path: str) -> dict[str, Any]:
    """The methods of a path that is asked for."""
    asked = path.partition("?")[0].split("/")
    for known, methods in DOCUMENT["paths"].items():
        pairs = list(zip_longest(known.split("/"), asked, fillvalue=""))
        if all(part == word or (part[:1] == "{" and word) for part, word in pairs):
            return dict(methods)
    return {}


def check(value: Any, schema: dict[str, Any]) -> None:
    jsonschema.validate(value, {**schema, "components": DOCUMENT["components"]}, jsonschema.Draft202012Validator)


@pytest.fixture
async def control() -> Control:
    world = BrokerWorld(movable=True)
    return Control(world, Admission())


async def test_the_description_is_served_and_names_every_route(control: Control) -> None:
    assert await control.ask("GET", "/control/openapi.json") == (200, DOCUMENT)
    app: Any = application(rooms_of(control.world), Admission())
    routes = {(route.path, method.lower()) for route in app.app.routes for method in route.methods - {"HEAD"}}
    assert routes == {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}


async def test_the_clock_is_stopped_moved_and_let_go_on(control: Control) -> None:
    now_ms = control.world.clock.now_ms()
    assert (await control.ask("GET", "/control/clock"))[1] == {
        "state": "running",
        "now_ms": now_ms,
        "now": "2023-11-14T22:13:20.000Z",
        "ahead_ms": 0,
    }
    assert (await control.change({"freeze": True}))[1]["state"] == "frozen"
    assert (await control.change({"advance": "1h30m"}))[1]["ahead_ms"] == 90 * 60_000
    assert (await control.change({"advance_ms": 1}))[1]["ahead_ms"] == 90 * 60_000 + 1
    status, state = await control.change({"at": "2023-11-15T22:13:20Z"})
    assert (status, state["state"], state["ahead_ms"]) == (200, "frozen", DAY_MS)
    assert (await control.change({"at": now_ms + 2 * DAY_MS}))[1]["now_ms"] == now_ms + 2 * DAY_MS
    status, state = await control.change({"run": True})
    assert (status, state["state"], state["ahead_ms"]) == (200, "running", 2 * DAY_MS)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 4000, "the body is "),
        (b"[]", "the body is one of"),
        (b"{}", "the body is one of"),
        (b"null", "the body is one of"),
        (b'"freeze"', "the body is one of"),
        (b'{"freeze": false}', "the body is one of"),
        (b'{"freeze": true, "run": true}', "the body is one of"),
        (b'{"advance": "15m", "force": 1}', "the body is one of"),
        (b'{"advance": 15}', "the body is one of"),
        (b'{"advance_ms": true}', "the body is one of"),
        (b'{"advance_ms": 1.5}', "the body is one of"),
        (b'{"advance_ms": NaN}', "the body is one of"),
        (b'{"advance_ms": 1e400}', "the body is one of"),
        (b'{"advance_ms": 99999999999999999999}', "the body is one of"),
        (b'{"advance_ms": -1}', "the clock does not go back"),
        (b'{"advance_ms": 9007199254740992}', "a hundred years at most"),
        (b'{"advance": "soon"}', "is not a length of time"),
        (b'{"at": "soon"}', "is not a time such as"),
        (b'{"at": 0}', "the clock does not go back"),
        (b'{"at": "2020-01-01"}', "the clock does not go back"),
        (b'{"at": "9999-12-31"}', "a hundred years at most"),
        (b'{"at": true}', "the body is one of"),
    ],
)
async def test_bad_input_is_answered_with_one_sentence(control: Control, body: bytes, why: str) -> None:
    before = (await control.ask("GET", "/control/clock"))[1]
    status, found = await control.ask("POST", "/control/clock", content=body)
    assert status == 400
    assert why in found["error"]
    assert "\n" not in found["error"]
    assert (await control.ask("GET", "/control/clock"))[1] == before


@pytest.mark.parametrize(
    "body",
    [b"", b"[" * 4000, b"{}", b"null", b'{"group": 1}', b'{"group": "g", "member": null}', b'{"group": "g", "x": 1}'],
)
async def test_locks_of_an_unclear_group_are_not_ended(control: Control, body: bytes) -> None:
    assert await control.ask("POST", "/control/share-locks/end", content=body) == (
        400,
        {"error": 'the body is {"group": "workers"} or {"group": "workers", "member": "worker-1"}'},
    )


async def test_locks_of_a_group_that_does_not_exist_are_not_found(control: Control) -> None:
    assert await control.ask("POST", "/control/share-locks/end", json={"group": "g", "member": "m"}) == (
        404,
        {"error": "Group g not found."},
    )


async def test_a_missing_resource_is_reported(control: Control) -> None:
    status, found = await control.ask("GET", "/control")
    assert status == 404
    assert found["error"].startswith("there are /control/clock, /control/faults, ")
    assert found["error"].endswith(" and /control/openapi.json")
    status, said = await control.ask("DELETE", "/control/clock")
    assert (status, said["error"].endswith(", not DELETE")) == (405, True)
    assert said["error"].startswith("/control/clock takes ")
    assert (await control.ask("POST", "/control/openapi.json"))[0] == 405


async def test_an_unauthorized_request_is_refused_without_effect() -> None:
    world = BrokerWorld(movable=True)
    refused = {"json": {"advance": "1h"}}
    far = Control(world, Admission(), is_local=False)
    assert (await far.ask("POST", "/control/clock", **refused))[0] == 403
    near = Control(world, Admission())
    assert (await near.ask("POST", "/control/clock", headers={"origin": "http://evil.example"}, **refused))[0] == 403
    known = Control(world, Admission("secret"), is_local=False)
    assert (await known.ask("POST", "/control/clock", **refused))[0] == 401
    assert (await known.ask("GET", "/control/clock"))[0] == 401
    assert world.services.clock.now_ms() == world.clock.now_ms()
    token = {"authorization": "Bearer secret"}
    assert (await known.ask("POST", "/control/clock", headers=token, **refused))[0] == 200
    assert world.services.clock.now_ms() == world.clock.now_ms() + 3_600_000


async def test_a_broker_that_stops_reports_it(control: Control) -> None:
    await control.world.close()
    assert await control.change({"freeze": True}) == (503, {"error": "the broker stops"})


def test_where_an_application_is_mounted() -> None:
    mounted = Mounted(b"/control", asgi(cast_app()), 10)
    assert [
        mounted.has(each) for each in (b"/control", b"/control?x", b"/control/a", b"/controls", b"/", b"/metrics")
    ] == [True, True, True, False, False, False]


def cast_app() -> AsgiApp:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        """Never asked."""

    return app
