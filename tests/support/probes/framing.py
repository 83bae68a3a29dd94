"""Bytes that are no requests, and requests that no broker of this release answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest
from tests.support.probes.wire import SILENCE_S, Target, comparable, frame, sized

_METADATA = MetadataRequest(topics=[])
_NAMED = ApiVersionsRequest(client_software_name="probe", client_software_version="1.0")


def _header(key: int, version: int) -> bytes:
    return key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + bytes(4) + b"\0\1c"


def _sent(data: bytes) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        with target.connect() as wire:
            wire.send(data)
            return wire.receive(3)

    return probe


def _sent_and_ended(data: bytes) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        with target.connect() as wire:
            wire.send(data)
            wire.end()
            return wire.receive(3)

    return probe


def _half_a_frame_is_waited_for(target: Target) -> Any:
    whole = frame(_METADATA, 12)
    with target.connect() as wire:
        wire.send(whole[:9])
        first = wire.receive(SILENCE_S)
        wire.send(whole[9:])
        return first, comparable(wire.answer_to(_METADATA, 12))


def _requests_in_one_piece(target: Target) -> Any:
    with target.connect() as wire:
        wire.send(frame(_NAMED, 0) * 3 + frame(_METADATA, 1))
        return [type(wire.answer_to(_NAMED, 0)).__name__ for _ in range(3)], comparable(wire.answer_to(_METADATA, 1))


def _a_newer_api_versions(target: Target) -> Any:
    request = ApiVersionsRequest()
    with target.connect() as wire:
        wire.send(sized(_header(18, 99) + b"\0whatever"))
        first = comparable(wire.answer_to(request, 0))
        wire.send(frame(_NAMED, 3))
        return first, wire.answer_to(_NAMED, 3).error_code


def _without_client_id(target: Target) -> Any:
    with target.connect() as wire:
        wire.send(sized(b"\0\3\0\1" + bytes(4) + b"\xff\xff" + bytes(4)))
        return comparable(wire.answer_to(_METADATA, 1))


def _longer_than_needed(target: Target) -> Any:
    with target.connect() as wire:
        wire.send(sized(frame(_METADATA, 1)[4:] + b"more"))
        return comparable(wire.answer_to(_METADATA, 1))


def _named(name: str, version: str) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        request = ApiVersionsRequest(client_software_name=name, client_software_version=version)
        with target.connect() as wire:
            wire.send(frame(request, 3))
            answer = wire.answer_to(request, 3)
            return answer if isinstance(answer, str) else (answer.error_code, len(answer.api_keys) > 0)

    return probe


_METADATA_V9 = frame(_METADATA, 9)[4:]

PROBES: dict[str, Callable[[Target], Any]] = {
    "a TLS hello": _sent(bytes.fromhex("16030100c8010000c40303") + random.Random(1).randbytes(200)),
    "an HTTP request": _sent(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "a frame of size -1": _sent(b"\xff\xff\xff\xff" + bytes(20)),
    "the smallest size": _sent(b"\x80\0\0\0" + bytes(20)),
    "an empty frame": _sent(bytes(4)),
    "the largest size": _sent(b"\x7f\xff\xff\xff" + bytes(20)),
    "one byte over socket.request.max.bytes": _sent((104857601).to_bytes(4, "big") + bytes(20)),
    "garbage in a frame": _sent(sized(random.Random(2).randbytes(300))),
    "half a header": _sent(sized(b"\0\3\0\1\0")),
    "half a frame and the end": _sent_and_ended(frame(_METADATA, 1)[:9]),
    "nothing and the end": _sent_and_ended(b""),
    "half a frame is waited for": _half_a_frame_is_waited_for,
    "several requests in one piece": _requests_in_one_piece,
    "an unknown API": _sent(sized(_header(9999, 0))),
    "API -1": _sent(sized(_header(-1, 0))),
    "a controller's API": _sent(sized(_header(52, 0) + bytes(30))),
    "Metadata v99": _sent(sized(_header(3, 99) + bytes(30))),
    "Metadata v-1": _sent(sized(_header(3, -1) + bytes(30))),
    "ApiVersions v-1": _sent(sized(_header(18, -1) + bytes(30))),
    "ApiVersions v99": _a_newer_api_versions,
    "Produce v2": _sent(sized(_header(0, 2) + bytes(30))),
    "Produce v0": _sent(sized(_header(0, 0) + bytes(30))),
    "Fetch v3": _sent(sized(_header(1, 3) + bytes(40))),
    "LeaderAndIsr": _sent(sized(_header(4, 0) + bytes(40))),
    "a client id that is longer than the frame": _sent(sized(b"\0\3\0\1" + bytes(4) + b"\x7f\xffab")),
    "a null client id": _without_client_id,
    "bytes behind the body": _longer_than_needed,
    "an array that claims a billion": _sent(sized(_header(3, 1) + b"\x3b\x9a\xca\0")),
    "an array of length -2": _sent(sized(_header(3, 1) + b"\xff\xff\xff\xfe")),
    "a varint without an end": _sent(sized(_METADATA_V9[:-4] + b"\xff" * 12)),
    "a body cut by a byte": _sent(sized(frame(_METADATA, 1)[4:-1])),
    "a software name of bad characters": _named("a b", "1.0"),
    "an empty software name": _named("", ""),
    "a software version with a plus": _named("probe", "1.0+2"),
    "a good software name": _named("probe", "1.0-rc.2"),
}
