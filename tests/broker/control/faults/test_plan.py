"""Plans from JSON: taken, or refused in one sentence that names what there is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.api.api_table import API_TABLE
from barnabas.broker.control.faults.model import (
    FAULTS_MAX,
    PLAN_BYTES_MAX,
    Cut,
    Delay,
    DiskAction,
    DiskError,
    DiskFileKind,
    DiskMatch,
    DiskOperation,
    Fault,
    FaultRefused,
    Often,
    PointAction,
    PointMatch,
    RequestAction,
    RequestMatch,
)
from barnabas.broker.control.faults.plan.of_requests import ACTIONS, MATCHES
from barnabas.broker.control.faults.plan.reading import Known, read_plan
from barnabas.broker.runtime.events import EventKind
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.registry import ApiKey

CRASHABLE = EventKind(
    "x.crashable", "a step", ("transactional_id", "partition", "is_commit", "position", "state"), may_crash=True
)
BOTH = EventKind("x.both", "another step", ("group",), may_crash=True, may_pause=True)
KNOWN = Known(
    apis={row.key: (row.min_version, row.max_version) for row in API_TABLE},
    nodes=[1, 2],
    listeners=["PLAINTEXT", "INSIDE"],
    points={kind.name: kind for kind in (CRASHABLE, BOTH)},
)
EXAMPLE = """{"version": 1, "seed": 7, "faults": [{"name": "lost-commit",
    "match": {"api": "EndTxn", "transactional_id": "orders-*", "nth": 1}, "do": {"lose_answer": true}, "times": 1}]}"""


def read(asked: Any) -> Fault:
    (fault,) = read_plan(json.dumps(asked), KNOWN).faults
    return fault


def fault(match: Any, do: Any, **more: Any) -> dict[str, Any]:
    return {"match": match, "do": do, **more}


def why(asked: Any) -> str:
    with pytest.raises(FaultRefused) as refused:
        read_plan(asked if isinstance(asked, str | bytes) else json.dumps(asked), KNOWN)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


def test_a_plan_has_a_seed_and_faults() -> None:
    plan = read_plan(EXAMPLE, KNOWN)
    assert plan.seed == 7
    (lost,) = plan.faults
    assert (lost.name, lost.often) == ("lost-commit", Often(nth=1, probability=1.0, times=1))
    assert lost.match == RequestMatch(api=ApiKey.END_TXN, transactional_id="orders-*")
    assert lost.action == RequestAction(lose_answer=True)
    assert lost.definition == json.loads(EXAMPLE)["faults"][0]


def test_a_fault_may_be_given_alone_and_fires_once_unless_it_says_more() -> None:
    alone = read(fault({"api": "Fetch"}, {"delay": "200ms"}))
    assert (alone.name, alone.often) == ("", Often())
    assert read(fault({}, {"drop": True}, times="always")).often.times is None
    assert read(fault({}, {"drop": True}, times=3)).often.times == 3


def test_everything_that_a_request_is_matched_by() -> None:
    given = {
        "api": "OffsetCommit",
        "version": {"min": 3, "max": 8},
        "node": 2,
        "listener": "INSIDE",
        "connection": "127.0.0.1:*",
        "client_id": "",
        "topic": "or*",
        "partition": 0,
        "group": "g",
        "nth": 2,
        "probability": 0.5,
    }
    found = read(fault(given, {"pause": True}))
    assert found.match == RequestMatch(
        api=ApiKey.OFFSET_COMMIT,
        versions=(3, 8),
        node=2,
        listener="INSIDE",
        connection="127.0.0.1:*",
        client_id="",
        topic="or*",
        partition=0,
        group="g",
    )
    assert found.often == Often(nth=2, probability=0.5)
    assert {*given, "transactional_id"} == set(MATCHES)


@pytest.mark.parametrize(
    ("do", "action"),
    [
        ({"error": "NOT_COORDINATOR"}, RequestAction(error=ErrorCode.NOT_COORDINATOR)),
        ({"delay": "1m30s"}, RequestAction(delay=Delay(90_000, 90_000))),
        ({"delay": {"min": "0s", "max": "1s"}}, RequestAction(delay=Delay(0, 1000))),
        ({"delay": {"mean": "200ms"}}, RequestAction(delay=Delay(0, 0, 200))),
        ({"drop": True}, RequestAction(drop=True)),
        ({"lose_answer": True}, RequestAction(lose_answer=True)),
        ({"cut": "middle"}, RequestAction(cut=Cut.MIDDLE)),
        ({"cut": "before", "drop": True}, RequestAction(cut=Cut.BEFORE, drop=True)),
        ({"throttle": 1000}, RequestAction(throttle=1000)),
        ({"pause": True, "lose_answer": True}, RequestAction(pause=True, lose_answer=True)),
    ],
)
def test_every_action_on_a_request(do: dict[str, Any], action: RequestAction) -> None:
    assert read(fault({"api": "EndTxn"}, do)).action == action


def test_faults_at_points_and_of_the_disk() -> None:
    crash = read(fault({"point": "x.crashable", "transactional_id": "t*", "partition": 3, "nth": 2}, {"crash": True}))
    assert crash.match == PointMatch(point="x.crashable", facts={"transactional_id": "t*", "partition": 3})
    assert (crash.action, crash.often.nth) == (PointAction(crash=True), 2)
    assert read(fault({"point": "x.both"}, {"pause": True})).action == PointAction(pause=True)
    full = read(fault({"disk": "append", "topic": "orders", "partition": 0}, {"error": "ENOSPC"}, times=5))
    assert full.match == DiskMatch(operation=DiskOperation.APPEND, topic="orders", partition=0)
    assert full.action == DiskAction(error=DiskError.ENOSPC)
    index = read(fault({"disk": "read", "file": "txnindex"}, {"error": "EIO"}))
    assert index.match == DiskMatch(operation=DiskOperation.READ, file=DiskFileKind.TXNINDEX)
    assert read(fault({"disk": "sync"}, {"delay": "2s"})).action == DiskAction(delay=Delay(2000, 2000))


_END_TXN = {"api": "EndTxn"}
_DROP = {"drop": True}
_EIO = {"error": "EIO"}


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("", "this is not JSON"),
        (b"\xff", "this is not JSON"),
        ("[" * 20_000, "this is not JSON"),
        (" " * PLAN_BYTES_MAX + "1", "a plan has at most 65536 bytes, not 65537"),
        ("9" * 5000, "this is not JSON"),
        ('{"match": {"probability": NaN}, "do": {"drop": true}}', "NaN is not a JSON number"),
        ('{"match": {"probability": 1e400}, "do": {"drop": true}}', "a number above 0 and at most 1, not inf"),
        ('{"match": {}, "do": {"drop": true, "drop": true}}', "'drop' occurs twice in one object"),
        ([], "the fault is an object with name, match, do and times, not []"),
        ({"version": 2, "faults": [], "new": 1}, "the plan has version 2, and this broker knows versions up to 1"),
        ({"version": 0, "faults": []}, "a plan's version is a whole number from 1 to 1, not 0"),
        ({"faults": []}, "a plan's version is a whole number from 1 to 1, not null"),
        ({"version": 1, "faults": {}}, "a plan's faults are a list, not {}"),
        ({"version": 1, "faults": [], "sead": 1}, "a plan has no 'sead', but version, seed and faults"),
        ({"version": 1, "seed": 1.5, "faults": []}, "a plan's seed is a whole number from 0 to"),
        ({"version": 1, "faults": [1] * (FAULTS_MAX + 1)}, "a plan has at most 200 faults, not 201"),
        ({"version": 1, "faults": [fault({}, _DROP), fault({}, {})]}, "fault 2: a fault needs an action: do is empty"),
        (fault({}, _DROP, name="a b"), "the name of the fault has letters, digits"),
        (fault({}, _DROP, name="a", times=0), "fault a: times is a whole number from 1 to 1000000000, or "),
        (fault({}, _DROP, times="often"), "or \"always\", not 'often'"),
        (fault({}, _DROP, times=None), "times is a whole number"),
        ({"do": _DROP}, "the fault needs match, an object, not null"),
        ({"match": {}}, "the fault needs do, an object, not null"),
        (fault({"api": "EndTransaction"}, _DROP), "api is one of Produce, Fetch, ListOffsets, "),
        (fault({"api": 26}, _DROP), "api is one of Produce"),
        (fault({"appi": "EndTxn"}, _DROP), "has no 'appi', but api, version, node, listener"),
        (fault({"version": 1}, _DROP), "a version needs an api: each API has its own versions"),
        (fault({**_END_TXN, "version": 9}, _DROP), "version of EndTxn is a whole number from 0 to 5, not 9"),
        (fault({**_END_TXN, "version": {"min": 3, "max": 2}}, _DROP), "min 3 is above max 2"),
        (fault({**_END_TXN, "topic": "t"}, _DROP), "EndTxn names no topic, only transactional_id"),
        (fault({"api": "ListGroups", "group": "t"}, _DROP), "ListGroups names no group, nothing that a fault matches"),
        (fault({"topic": "t", "transactional_id": "x", "group": "g", "partition": 1, "version": 1}, _DROP), "version"),
        (fault({"node": 3}, _DROP), "there is no node 3, there are 1 and 2"),
        (fault({"node": True}, _DROP), "node is a whole number"),
        (fault({"listener": "OUTSIDE"}, _DROP), "listener is one of PLAINTEXT, INSIDE, not 'OUTSIDE'"),
        (fault({"topic": "a b"}, _DROP), "topic has up to 249 letters"),
        (fault({"topic": "a" * 250}, _DROP), "topic has up to 249 letters"),
        (fault({"topic": ""}, _DROP), "topic has up to 249 letters"),
        (fault({"partition": -1}, _DROP), "partition is a whole number from 0 to 2147483647, not -1"),
        (fault({"partition": "0"}, _DROP), "partition is a whole number"),
        (fault({"client_id": "x" * 1001}, _DROP), "client_id is a text of at most 1000 characters"),
        ('{"match": {"client_id": "\\ud800"}, "do": {"drop": true}}', "client_id contains half of a surrogate pair"),
        (fault({"nth": 0}, _DROP), "nth is a whole number from 1 to 1000000000, not 0"),
        (fault({"probability": 0}, _DROP), "probability is a number above 0 and at most 1, not 0"),
        (fault({}, {"drop": False}), "drop is true, or left out, not false"),
        (
            fault({}, {"explode": True}),
            "do of a request fault has no 'explode', but error, delay, drop, lose_answer, cut, throttle and",
        ),
        (fault({}, {"error": "NOT_COORDINATOR"}), "an error needs an api: each API has its own error codes"),
        (fault(_END_TXN, {"error": "OFFSET_OUT_OF_RANGE"}), "EndTxn does not return 'OFFSET_OUT_OF_RANGE', but UNK"),
        (fault(_END_TXN, {"error": 16}), "EndTxn does not return 16, but UNKNOWN_SERVER_ERROR, "),
        (fault(_END_TXN, {"error": "NONE"}), "EndTxn does not return 'NONE', but"),
        (fault({}, {"cut": "between"}), "cut is one of before, middle, after, not 'between'"),
        (fault({}, {"cut": "after", "drop": True}), "drop and cut exclude each other"),
        (fault({}, {"lose_answer": True, "drop": True}), "drop and lose_answer exclude each other"),
        (fault({}, {"delay": "1s", "pause": True}), "delay and pause exclude each other"),
        (fault({}, {"throttle": 9, "cut": "after"}), "throttle and cut exclude each other"),
        (fault({}, {"throttle": 0}), "throttle, in bytes per second, is a whole number from 1"),
        (fault({}, {"delay": 200}), 'delay is "200ms", {"min": "100ms", "max": "1s"} or {"mean": "200ms"}, not 200'),
        (fault({}, {"delay": "soon"}), "delay is a length of time such as 200ms, 5s or 1m, not 'soon'"),
        (fault({}, {"delay": "2h"}), "delay is at most 60m, not '2h'"),
        (fault({}, {"delay": {"min": "2s", "max": "1s"}}), "delay: min 2s is above max 1s"),
        (fault({}, {"delay": {"mean": "0s"}}), "delay: the mean is above 0"),
        (fault({}, {"delay": {"mean": "1s", "max": "1s"}}), "delay is"),
        (fault({"point": "x.unknown"}, {"crash": True}), "a point is one of x.crashable, x.both, not 'x.unknown'"),
        (fault({"point": "x.both", "topic": "t"}, {"crash": True}), "x.both has no fact 'topic', but group"),
        (fault({"point": "x.both", "group": None}, {"crash": True}), "group is a text of at most 1000 characters, not"),
        (fault({"point": "x.crashable", "is_commit": 1}, {"crash": True}), "is_commit is true or false, not 1"),
        (fault({"point": "x.crashable", "is_commit": "no"}, {"crash": True}), "is_commit is true or false, not 'no'"),
        (fault({"point": "x.crashable", "partition": True}, {"crash": True}), "partition is a whole number from 0 to"),
        (fault({"point": "x.crashable", "position": 0}, {"crash": True}), "position is a whole number from 1 to"),
        (fault({"point": "x.crashable", "state": "Done"}, {"crash": True}), "state is one of Empty, Ongoing, PrepareC"),
        (fault({"connection": "laptop"}, _DROP), "connection is a client's address and port such as 127.0.0.1:50312"),
        (fault({"point": "x.crashable"}, {"pause": True}), "do at x.crashable has no 'pause', but crash"),
        (
            fault({"point": "x.both"}, {"pause": True, "crash": True}),
            "a fault at x.both has exactly one action: crash or pause",
        ),
        (fault({"point": "x.both"}, {"error": "EIO"}), "do at x.both has no 'error', but crash and pause"),
        (fault({"disk": "write"}, {"error": "EIO"}), "disk is one of append, sync, read, not 'write'"),
        (
            fault({"disk": "append", "file": "idx"}, {"error": "EIO"}),
            "file is one of log, index, timeindex, txnindex, snapshot, checkpoint, catalogue, not 'idx'",
        ),
        (fault({"disk": "append", "file": None}, {"error": "EIO"}), "file is one of log, index,"),
        (fault({"disk": "read"}, {"error": "ENOSPC"}), "a read needs no disk space: its error must be EIO"),
        (fault({"disk": "read"}, {"delay": "1s"}), "only a sync can be delayed: all other calls run in the event loop"),
        (fault({"disk": "sync", "topic": "__cluster_metadata"}, _EIO), 'are matched by "file": "catalogue"'),
        (fault({"disk": "sync", "file": "catalogue", "partition": 0}, _EIO), "it has no topic and no partition"),
        (fault({"disk": "read", "file": "catalogue"}, {"error": "EIO"}), "the catalogue is read only at the start"),
        (fault({"disk": "sync", "file": "catalogue"}, {"delay": "1s"}), "the catalogue is synced in the event loop"),
        (fault({"disk": "sync"}, {"error": "ENOENT"}), "an error of the disk is one of ENOSPC, EIO, not 'ENOENT'"),
        (
            fault({"disk": "sync"}, {"error": "EIO", "delay": "1s"}),
            "a disk fault has exactly one action: error or delay",
        ),
        (
            fault({"disk": "append"}, {"delay": "1s"}),
            "only a sync can be delayed: all other calls run in the event loop",
        ),
        (fault({"disk": "append", "api": "Fetch"}, {"error": "EIO"}), "has no 'api', but disk, file, topic, partition"),
    ],
)
def test_invalid_input_is_refused_in_one_sentence(asked: Any, sentence: str) -> None:
    assert sentence in why(asked)


def test_a_sentence_is_not_as_long_as_what_was_given() -> None:
    assert len(why(fault({"client_id": "x" * 50_000}, _DROP))) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
VALUES = st.one_of(
    JSON, st.sampled_from(["EndTxn", "x.both", "append", "1s", "before", "EIO", "NOT_COORDINATOR", "a*"])
)
MATCH = st.dictionaries(st.sampled_from([*MATCHES, "point", "disk"]), VALUES, max_size=4)
DO = st.dictionaries(st.sampled_from([*ACTIONS, "crash"]), VALUES, max_size=3)
FAULT = st.fixed_dictionaries({"match": MATCH, "do": DO}, optional={"name": VALUES, "times": VALUES})
PLAN = st.fixed_dictionaries({"version": VALUES, "faults": st.lists(FAULT, max_size=3)}, optional={"seed": VALUES})


@given(st.one_of(JSON, FAULT, PLAN))
@settings(max_examples=500, deadline=None)
def test_any_json_is_taken_or_refused_in_one_sentence(asked: Any) -> None:
    try:
        plan = read_plan(json.dumps(asked), KNOWN)
    except FaultRefused as refused:
        sentence = str(refused)
        faults: tuple[Fault, ...] = ()
    else:
        sentence, faults = "", plan.faults
    assert sentence == "" or sentence.isprintable()
    assert len(sentence) < 2_500
    for each in faults:
        assert json.loads(json.dumps(each.definition, ensure_ascii=False, allow_nan=False)) == each.definition


@given(st.binary(max_size=60))
def test_any_bytes_are_taken_or_refused(data: bytes) -> None:
    with pytest.raises(FaultRefused):
        read_plan(data, KNOWN)
