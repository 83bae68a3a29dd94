"""The two sans-IO connections against each other, and both against anything else that may come down the wire."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.connection.client import ClientConnection, ClientEvent, ConnectionBroken, ResponseReceived
from barnabas.protocol.connection.framing import frame
from barnabas.protocol.connection.server import (
    ProtocolBroken,
    RequestReceived,
    ServerConnection,
    ServerEvent,
    encode_response,
)
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.produce import ProduceRequest
from tests.support.three_ways import three_ways


def heartbeat(generation: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=generation, member_id="m")


def sent(client: ClientConnection, request: HeartbeatRequest, version: int = 4) -> bytes:
    return b"".join(client.send(request, version)[1])


def answer(event: object, error: ErrorCode = ErrorCode.NONE) -> bytes:
    assert isinstance(event, RequestReceived)
    return encode_response(event.header, HeartbeatResponse(error_code=error))


def test_requests_arrive_as_they_were_sent_three_ways() -> None:
    client = ClientConnection("me")
    requests = [(heartbeat(1), 0), (heartbeat(2), 4), (heartbeat(3), 3)]
    stream = b"".join(sent(client, request, version) for request, version in requests)

    def parser() -> Callable[[bytes], list[ServerEvent]]:
        return ServerConnection().receive

    for events in three_ways(parser, stream, tail=b"\x00\x00\x00\x20half"):
        received = [event for event in events if isinstance(event, RequestReceived)]
        assert len(received) == len(events)
        assert [event.decode() for event in received] == [request for request, _ in requests]
        assert [event.header.client_id for event in received] == ["me"] * 3


def test_replies_leave_in_the_order_of_the_requests() -> None:
    client, server = ClientConnection(None), ServerConnection()
    events = server.receive(b"".join(sent(client, heartbeat(n)) for n in range(3)))
    assert client.in_flight == 3
    assert server.reply(2, answer(events[2], ErrorCode.ILLEGAL_GENERATION)) == b""
    first = server.reply(0, answer(events[0]))
    rest = server.reply(1, answer(events[1], ErrorCode.REBALANCE_IN_PROGRESS))
    received = client.receive(first + rest)
    assert [event.sequence for event in received if isinstance(event, ResponseReceived)] == [0, 1, 2]
    assert [event.response.error_code for event in received if isinstance(event, ResponseReceived)] == [0, 27, 22]
    assert client.in_flight == 0


def test_responses_arrive_as_they_were_sent_three_ways() -> None:
    requests = b"".join(sent(ClientConnection("c"), heartbeat(n)) for n in range(1))
    server = ServerConnection()
    (event,) = server.receive(requests)
    stream = server.reply(0, answer(event))

    def parser() -> Callable[[bytes], list[ClientEvent]]:
        client = ClientConnection("c")
        client.send(heartbeat(0), 4)
        client.send(heartbeat(1), 4)
        return client.receive

    for events in three_ways(parser, stream, tail=stream[:3]):
        assert list(events) == [ResponseReceived(0, HeartbeatResponse(error_code=0))]


def test_a_request_without_a_reply_does_not_hold_up_the_next() -> None:
    client, server = ClientConnection(None), ServerConnection()
    produce = ProduceRequest(acks=0, timeout_ms=1, topic_data=[])
    stream = b"".join(client.send(produce, 9, answered=False)[1]) + sent(client, heartbeat(1))
    first, second = server.receive(stream)
    assert isinstance(first, RequestReceived)
    assert first.decode() == produce
    assert server.reply(1, answer(second)) == b""
    assert client.receive(server.reply(0, None)) == [ResponseReceived(1, HeartbeatResponse(error_code=0))]


def test_an_unsupported_version_of_api_versions_is_read_in_version_0() -> None:
    client, server = ClientConnection(None), ServerConnection()
    _, pieces = client.send(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4)
    (event,) = server.receive(b"".join(pieces))
    assert isinstance(event, RequestReceived)
    refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=3)])
    assert client.receive(server.reply(0, encode_response(event.header, refusal, version=0))) == [
        ResponseReceived(0, refusal)
    ]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "no whole header"),
        (b"\x00\x00\x00\x63\x00" + bytes(7), "a response to request 99, but 0 is next"),
        (b"\x00\x00\x00\x00", "end"),
        (b"\x00\x00\x00\x00\x00" + bytes(6) + b"\x00more", "4 bytes behind a Heartbeat response v4"),
    ],
)
def test_an_answer_that_does_not_fit_breaks_the_client_for_good(payload: bytes, reason: str) -> None:
    client = ClientConnection(None)
    client.send(heartbeat(1), 4)
    (event,) = client.receive(frame(payload) + frame(b"more"))
    assert isinstance(event, ConnectionBroken)
    assert reason in event.reason
    assert client.receive(frame(payload)) == []
    assert client.in_flight == 0


def test_an_answer_nobody_requested_breaks_the_client() -> None:
    (event,) = ClientConnection(None).receive(frame(b"hello"))
    assert event == ConnectionBroken("a response of 5 bytes without a request")


def test_requests_before_the_damage_can_still_be_replied_to() -> None:
    client, server = ClientConnection(None), ServerConnection()
    request, broken = server.receive(sent(client, heartbeat(1)) + b"GET / HTTP/1.1\r\n\r\n")
    assert broken == ProtocolBroken("HTTP instead of a Kafka request")
    assert client.receive(server.reply(0, answer(request))) == [ResponseReceived(0, HeartbeatResponse(error_code=0))]
    assert server.receive(sent(client, heartbeat(2))) == []


@pytest.mark.parametrize(("key", "version"), [(999, 0), (12, 5), (12, -1)])
def test_an_unknown_api_or_version_has_a_header_and_no_body(key: int, version: int) -> None:
    payload = key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + bytes(4) + b"\xff\xff"
    (event,) = ServerConnection().receive(frame(payload))
    assert isinstance(event, RequestReceived)
    assert (event.header.api_key, event.header.api_version) == (key, version)
    with pytest.raises(DecodeError):
        event.decode()


@given(st.lists(st.binary(max_size=40) | st.binary(max_size=40).map(frame), max_size=5))
def test_any_bytes_give_the_server_requests_or_a_reason(pieces: list[bytes]) -> None:
    server, is_broken = ServerConnection(limit=64), False
    for piece in pieces:
        for event in server.receive(piece):
            assert not is_broken, "nothing comes after a ProtocolBroken"
            is_broken = isinstance(event, ProtocolBroken)
            if isinstance(event, RequestReceived):
                try:
                    event.decode()
                except DecodeError:
                    continue  # the only error that is allowed


@given(st.lists(st.binary(max_size=40) | st.binary(max_size=40).map(frame), max_size=5))
def test_any_bytes_give_the_client_answers_or_a_reason(pieces: list[bytes]) -> None:
    client = ClientConnection(None, limit=64)
    client.send(heartbeat(1), 0)
    client.send(ApiVersionsRequest(), 3)
    events = [event for piece in pieces for event in client.receive(piece)]
    assert [event for event in events if isinstance(event, ConnectionBroken)] == [
        event for event in events[-1:] if isinstance(event, ConnectionBroken)
    ]
