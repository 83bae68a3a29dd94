"""The forms that arm faults of requests and of the disk, without JSON."""

import re
from typing import Any

import pytest

from barnabas.broker.http.console.pages.faults import DISK_ACTIONS, REQUEST_ACTIONS
from tests.support.console.world import Console

REQUEST, DISK = "/faults/arm-request", "/faults/arm-disk"
NEEDED = {"error": {"error": "NOT_COORDINATOR"}, "delay": {"delay": "200ms"}}


def armed(console: Console) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in each.state().items() if key in ("name", "match", "do", "times")}
        for each in console.world.broker.faults.get().registry.every()
    ]


def options(html: str, name: str) -> set[str]:
    """What a list of the page offers."""
    found = html.partition(f'<datalist id="{name}">')[2].partition("</datalist>")[0]
    return set(re.findall(r'<option value="(\w+)">', found))


@pytest.mark.parametrize(
    ("path", "form", "expected"),
    [
        (
            REQUEST,
            {
                "api": "OffsetCommit",
                "do": "error",
                "error": "NOT_COORDINATOR",
                "delay": "",
                "group": "readers",
                "topic": "orders",
                "partition": "0",
                "client_id": "c*",
                "nth": "2",
                "times": "always",
                "name": "late",
            },
            {
                "name": "late",
                "match": {
                    "api": "OffsetCommit",
                    "client_id": "c*",
                    "topic": "orders",
                    "partition": 0,
                    "group": "readers",
                    "nth": 2,
                },
                "do": {"error": "NOT_COORDINATOR"},
                "times": "always",
            },
        ),
        (
            REQUEST,
            {"do": "cut", "transactional_id": "7", "name": "n"},
            {"name": "n", "match": {"transactional_id": "7"}, "do": {"cut": "before"}, "times": 1},
        ),
        (
            DISK,
            {"disk": "append", "file": "log", "do": "ENOSPC", "topic": "orders", "times": "3", "name": "full"},
            {
                "name": "full",
                "match": {"disk": "append", "file": "log", "topic": "orders"},
                "do": {"error": "ENOSPC"},
                "times": 3,
            },
        ),
    ],
    ids=["request", "few-fields", "disk"],
)
async def test_a_form_arms_what_its_json_would(
    console: Console, path: str, form: dict[str, str], expected: dict[str, Any]
) -> None:
    answer = await console.post(path, 303, **form)
    assert answer.headers["location"] == "/console/faults"
    assert armed(console) == [expected]


@pytest.mark.parametrize("does", REQUEST_ACTIONS)
async def test_every_action_on_requests_can_be_armed(console: Console, does: str) -> None:
    await console.post(REQUEST, 303, api="EndTxn", do=does, **NEEDED.get(does, {}))
    assert [list(each["do"]) for each in armed(console)] == [[does]]


@pytest.mark.parametrize("does", DISK_ACTIONS)
async def test_every_action_on_the_disk_can_be_armed(console: Console, does: str) -> None:
    await console.post(DISK, 303, disk="sync", do=does, **NEEDED.get(does, {}))
    assert len(armed(console)) == 1


@pytest.mark.parametrize(
    ("path", "form", "sentence"),
    [
        (REQUEST, {"do": "error"}, "error is missing"),
        (REQUEST, {"do": "delay"}, "delay is missing"),
        (REQUEST, {"do": "explode"}, "do is one of error, lose_answer, drop, cut, delay, pause"),
        (REQUEST, {"do": "pause", "api": "EndTx"}, "EndTxn"),
        (REQUEST, {"do": "pause", "partition": "x"}, "partition is no whole number"),
        (REQUEST, {"do": "pause", "times": "often"}, "times is no whole number"),
        (REQUEST, {"do": "pause", "times": "0"}, "times is a whole number from 1"),
        (REQUEST, {"do": "error", "api": "EndTxn", "error": "OFFSET_OUT_OF_RANGE"}, "EndTxn"),
        (DISK, {"disk": "read", "do": "ENOSPC"}, "a read needs no disk space"),
        (DISK, {"disk": "append", "do": "delay", "delay": "1s"}, "only a sync can be delayed"),
    ],
)
async def test_a_form_that_makes_no_sense_arms_nothing(
    console: Console, path: str, form: dict[str, str], sentence: str
) -> None:
    assert sentence in (await console.post(path, 400, **form)).text
    assert armed(console) == []


async def test_the_forms_offer_what_the_broker_has(console: Console) -> None:
    html = await console.get("/faults")
    assert {"Produce", "EndTxn", "ShareFetch"} <= options(html, "apis")
    assert {"NOT_COORDINATOR", "NOT_LEADER_OR_FOLLOWER"} <= options(html, "codes")
    assert "Arm a fault of requests" not in await Console(console.world, may_change=False).get("/faults")


async def test_without_control_the_forms_arm_nothing(console: Console) -> None:
    only_look = Console(console.world, may_change=False)
    await only_look.post(REQUEST, 403, do="pause")
    await only_look.post(DISK, 403, do="EIO")
