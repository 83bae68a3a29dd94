"""What faults do to requests: over a whole broker in memory."""

import json
from typing import Any

import pytest

from barnabas.broker.api.frame_handler import FrameHandler
from barnabas.broker.control.faults.on_requests.actions import HELD_BYTES_MAX, UNANSWERED_MAX, UNANSWERED_MS_MAX
from barnabas.broker.runtime.events.events import Facts
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from tests.support.requests import create_topic
from tests.support.worlds.broker import settle
from tests.support.worlds.faulty_broker import FaultyWorld, asked, find, produce

CREATE = {"api": "CreateTopics"}


async def test_an_error_is_answered_and_nothing_is_done(faulty: FaultyWorld) -> None:
    fault = faulty.arm({"api": "CreateTopics", "topic": "a*"}, {"error": "NOT_CONTROLLER"})
    peer = faulty.connect()
    (answer,) = await asked(peer, create_topic("abc"))
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.NOT_CONTROLLER]
    assert "abc" not in faulty.world.services.catalogue.topics
    (answer,) = await asked(peer, create_topic("abc"))
    assert [topic.error_code for topic in answer.topics] == [0]
    assert (fault.chances.matched, fault.chances.fired) == (1, 1), "one that is over meets nothing"


async def test_a_request_that_is_dropped_is_not_applied_and_holds_its_connection_up(faulty: FaultyWorld) -> None:
    faulty.arm(CREATE, {"drop": True}, name="d")
    peer = faulty.connect()
    peer.ask(create_topic("abc"))
    await peer.put(find())
    assert peer.answers() == []
    assert not peer.is_closed
    assert "abc" not in faulty.world.services.catalogue.topics
    faulty.registry.disarm("d")
    await settle()
    assert peer.is_closed
    assert peer.answers() == []


async def test_an_answer_is_lost_after_the_request_was_applied(faulty: FaultyWorld) -> None:
    faulty.arm(CREATE, {"lose_answer": True})
    peer = faulty.connect()
    peer.ask(create_topic("abc"))
    await peer.put(find())
    assert peer.answers() == []
    assert "abc" in faulty.world.services.catalogue.topics


async def test_a_lost_answer_ends_with_its_connection_after_a_while(faulty: FaultyWorld) -> None:
    armed = faulty.arm(CREATE, {"lose_answer": True})
    peer = faulty.connect()
    await peer.put(create_topic("abc"))
    assert armed.is_holding
    faulty.clock.advance(UNANSWERED_MS_MAX)
    await settle()
    assert peer.is_closed
    assert not armed.is_holding


async def test_the_oldest_connection_that_waits_in_vain_goes_where_there_are_too_many(faulty: FaultyWorld) -> None:
    faulty.arm({"api": "ListGroups"}, {"drop": True}, times="always")
    peers = [faulty.connect() for _ in range(UNANSWERED_MAX + 1)]
    for peer in peers:
        peer.ask(ListGroupsRequest())
    await settle()
    assert [peer.is_closed for peer in peers] == [True] + [False] * UNANSWERED_MAX


@pytest.mark.parametrize(("where", "is_created"), [("before", True), ("middle", True), ("after", True)])
async def test_a_connection_is_cut_around_the_answer(faulty: FaultyWorld, where: str, is_created: bool) -> None:
    whole = faulty.connect()
    await whole.put(create_topic("first"))
    (frame,) = whole.frames()
    faulty.arm(CREATE, {"cut": where})
    peer = faulty.connect()
    peer.ask(create_topic("other"))
    await peer.put(find())
    assert peer.is_closed
    received = peer.transport.read()
    assert len(received) == {"before": 0, "middle": (4 + len(frame)) // 2, "after": 4 + len(frame)}[where]
    assert ("other" in faulty.world.services.catalogue.topics) is is_created


async def test_a_connection_is_cut_in_place_of_the_request(faulty: FaultyWorld) -> None:
    faulty.arm(CREATE, {"drop": True, "cut": "before"})
    peer = faulty.connect()
    await peer.put(create_topic("abc"))
    assert peer.is_closed
    assert "abc" not in faulty.world.services.catalogue.topics


async def test_responses_before_a_cut_are_sent(faulty: FaultyWorld) -> None:
    faulty.arm(CREATE, {"cut": "before"})
    peer = faulty.connect()
    peer.ask(find())
    await peer.put(create_topic("abc"))
    assert len(peer.frames()) == 1
    assert peer.is_closed


async def test_a_delay_goes_by_the_machines_clock_and_holds_up_what_is_behind(faulty: FaultyWorld) -> None:
    faulty.arm(CREATE, {"delay": "200ms"})
    peer, other = faulty.connect(), faulty.connect()
    peer.ask(create_topic("abc"))
    await peer.put(find())
    faulty.clock.advance(199)
    assert peer.frames() == []
    assert "abc" not in faulty.world.services.catalogue.topics
    assert len(await asked(other, find())) == 1, "other connections go on"
    faulty.clock.advance(1)
    await settle()
    assert len(peer.answers()) == 2
    assert "abc" in faulty.world.services.catalogue.topics


async def test_a_pause_stands_until_it_is_released(faulty: FaultyWorld) -> None:
    armed = faulty.arm(CREATE, {"pause": True}, name="p")
    peer = faulty.connect()
    peer.ask(create_topic("abc"))
    waited = await faulty.registry.wait_standing("p", 1, 10)
    assert (waited, armed.standing) == (armed, 1)
    assert [(each["api"], each["client_id"]) for each in armed.who_stands] == [("CreateTopics", "test")]
    assert "abc" not in faulty.world.services.catalogue.topics
    assert faulty.registry.release("p") == 1
    await settle()
    assert len(peer.answers()) == 1
    assert (armed.standing, faulty.registry.release("p")) == (0, 0)


async def test_a_peer_that_goes_away_stands_no_more(faulty: FaultyWorld) -> None:
    armed = faulty.arm(CREATE, {"pause": True})
    peer = faulty.connect()
    await peer.put(create_topic("abc"))
    assert armed.standing == 1
    peer.transport.hang_up()
    await settle()
    assert armed.standing == 0
    faulty.registry.reset()
    await settle()
    assert "abc" not in faulty.world.services.catalogue.topics, "nobody asks for it any more"


async def test_a_stop_lets_everything_go_on(faulty: FaultyWorld) -> None:
    faulty.arm(CREATE, {"pause": True})
    faulty.arm({"api": "FindCoordinator"}, {"delay": "1h"})
    faulty.arm({"api": "ListGroups"}, {"drop": True})
    standing, delayed, silent = peers = [faulty.connect() for _ in range(3)]
    standing.ask(create_topic("abc"))
    delayed.ask(find())
    await silent.put(ListGroupsRequest())
    await faulty.close()
    assert all(peer.is_closed for peer in peers)
    assert len(standing.answers()) == 1
    assert len(delayed.frames()) == 1
    assert silent.frames() == []


async def test_held_requests_are_bounded(faulty: FaultyWorld) -> None:
    faulty.world.services.catalogue.create_topic("t", 1)
    faulty.arm({"api": "Produce"}, {"pause": True}, times="always")
    peers = [faulty.connect() for _ in range(3)]
    size = HELD_BYTES_MAX // 2 + 1
    for peer in peers:
        await peer.put(produce({"t": {0: b"x" * size}}))
    assert [peer.is_closed for peer in peers] == [False, True, True]
    peers[0].transport.hang_up()
    await settle()
    again = faulty.connect()
    await again.put(produce({"t": {0: b"x" * size}}))
    assert not again.is_closed, "there is room again"


async def test_an_answer_is_throttled_piece_by_piece(faulty: FaultyWorld) -> None:
    whole = faulty.connect()
    await whole.put(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    expected = bytes(whole.transport.read())
    faulty.arm({"api": "ApiVersions"}, {"throttle": 1000})
    peer = faulty.connect()
    peer.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    received = b""
    elapsed_ms = 0
    while len(received) < len(expected):
        faulty.clock.advance(10)
        elapsed_ms += 10
        await settle()
        more = bytes(peer.transport.read())
        assert len(more) <= 50, "never much at a time"
        received += more
    assert received == expected
    assert elapsed_ms >= len(expected)
    await peer.put(find())
    assert len(peer.frames()) == 1


async def test_a_throttled_answer_waits_for_its_reader_and_comes_at_once_when_the_fault_is_taken_back(
    faulty: FaultyWorld,
) -> None:
    armed = faulty.arm({"api": "ApiVersions"}, {"throttle": 1000}, name="slow")
    peer = faulty.connect(kernel_bytes=60)
    peer.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    for _ in range(100):
        faulty.clock.advance(50)
        await settle()
    assert sum(peer.transport.writes) <= 100, "it is not written to a peer that does not read"
    assert armed.is_holding
    faulty.registry.disarm("slow")
    (answer,) = [await peer.answer_to_come()]
    assert len(answer.api_keys) > 40


async def test_fields_outside_of_the_body_are_matched(faulty: FaultyWorld) -> None:
    peer = faulty.connect()
    on_this = {"connection": peer.connection.peer, "client_id": "te*", "listener": "PLAINTEXT", "node": 1}
    hit = faulty.arm({**on_this, "api": "FindCoordinator", "version": {"min": 6}}, {"delay": "1s"}, times="always")
    missed = [
        faulty.arm(other, {"drop": True})
        for other in (
            {"connection": "127.0.0.2:*"},
            {"client_id": "x*"},
            {"api": "FindCoordinator", "version": 5},
            {"api": "FindCoordinator", "group": "h"},
        )
    ]
    assert await asked(peer, find()) == []
    faulty.clock.advance(1000)
    await settle()
    assert len(peer.answers()) == 1
    assert hit.chances.fired == 1
    assert [each.chances.matched for each in missed] == [0, 0, 0, 0]


async def test_the_first_that_fires_acts_and_all_that_match_count(faulty: FaultyWorld) -> None:
    first = faulty.arm(CREATE, {"error": "NOT_CONTROLLER"})
    second = faulty.arm(CREATE, {"error": "INVALID_CONFIG"})
    peer = faulty.connect()
    codes = [(await asked(peer, create_topic("abc")))[0].topics[0].error_code for _ in range(3)]
    assert codes == [ErrorCode.NOT_CONTROLLER, ErrorCode.INVALID_CONFIG, 0]
    assert (first.chances.matched, second.chances.matched) == (1, 2)


async def test_only_apis_that_a_live_fault_names_are_wrapped(faulty: FaultyWorld) -> None:
    def entry(*_: object) -> None:
        """Never called."""

    assert faulty.node.wraps == [None]
    faulty.arm({"api": "CreateTopics", "version": 7}, {"error": "NOT_CONTROLLER"})
    wrap = faulty.node.wraps[-1]
    assert wrap is not None
    assert wrap(1, 12, entry) is entry
    assert wrap(19, 6, entry) is entry
    assert wrap(19, 7, entry) is not entry
    await asked(faulty.connect(), create_topic("abc"))
    assert faulty.node.wraps[-1] is None, "it is over"


@pytest.mark.parametrize(
    ("match", "do"), [({"topic": "t"}, {"pause": True}), ({}, {"error": "NOT_CONTROLLER"}), ({}, {"lose_answer": True})]
)
async def test_bytes_that_are_no_request_are_refused_as_ever(
    faulty: FaultyWorld, match: dict[str, str], do: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    faulty.arm({"api": "CreateTopics", **match}, do)
    peer = faulty.connect()
    peer.transport.send((12).to_bytes(4, "big") + (19).to_bytes(2, "big") + (7).to_bytes(2, "big") + bytes(8))
    await settle()
    assert peer.is_closed
    assert [record.levelname for record in caplog.records if record.name == "barnabas.net"] == ["WARNING"]


async def test_a_version_that_is_not_offered_meets_no_fault_and_is_not_remembered(faulty: FaultyWorld) -> None:
    faulty.arm({}, {"drop": True}, times="always")
    peer = faulty.connect()
    unknown = (18).to_bytes(2, "big") + (99).to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    for _ in range(2):
        peer.transport.send(len(unknown).to_bytes(4, "big") + unknown)
        await settle()
        (frame,) = peer.frames()
        assert frame[4:6] == int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
    wraps: list[tuple[int, int]] = []

    def wrap(api_key: int, version: int, entry: FrameHandler) -> FrameHandler:
        wraps.append((api_key, version))
        return entry

    faulty.world.dispatcher.intercept(wrap)
    peer.transport.send(len(unknown).to_bytes(4, "big") + unknown)
    await settle()
    assert (len(peer.frames()), wraps) == (1, [])


async def test_each_change_and_each_firing_is_reported(faulty: FaultyWorld, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "barnabas.faults")
    told: list[tuple[str, Facts]] = []
    faulty.world.broker.events.listen(lambda kind, facts: told.append((kind.name, facts)))
    faulty.arm(CREATE, {"error": "NOT_CONTROLLER"}, name="f")
    peer = faulty.connect()
    await asked(peer, create_topic("abc"))
    faulty.registry.release("f")
    faulty.registry.disarm("f")
    changes = [
        (name, facts["fault"], facts.get("change", facts.get("does"))) for name, facts in told if "fault" in name
    ]
    assert changes == [
        ("fault.changed", "f", "armed"),
        ("fault.fired", "f", "error"),
        ("fault.changed", "f", "released"),
        ("fault.changed", "f", "disarmed"),
    ]
    assert [record.getMessage().split(" fault=")[0] for record in caplog.records] == [
        "fault armed",
        "fault fired",
        "fault released",
        "fault disarmed",
    ]
    assert f"api=CreateTopics node=1 client_id=test connection={peer.connection.peer}" in caplog.text


async def test_a_state_is_json(faulty: FaultyWorld) -> None:
    armed = faulty.arm(CREATE, {"pause": True}, times="always", name="f")
    peer = faulty.connect()
    await peer.put(create_topic("abc"))
    assert json.loads(json.dumps(armed.state())) == {
        "name": "f",
        "match": CREATE,
        "do": {"pause": True},
        "times": "always",
        "matched": 1,
        "fired": 1,
        "standing": 1,
    }
