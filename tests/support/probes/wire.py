"""One connection to a server under a probe: bytes out, and what came back, so that two servers can be compared.

What differs between any two servers (addresses, ids, the time, the wording of messages) is replaced by a word that says
what kind of thing it was.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any, Self

from protocol.headers import encode_request_header, parse_response_header
from protocol.records.batch import parse_header
from protocol.registry import ApiKey, request_codec, response_codec
from protocol.schema import Request, Struct

ANSWER_TIMEOUT_S = 8.0
SILENCE_S = 0.4
CLOSED = "closed"
SILENT = "silent"

_SIZE = struct.Struct(">i")
# Fields whose value is each server's own affair, and what stands for a value that is there.
_OWN = {
    "topic_id": "id",
    "cluster_id": "id",
    "host": "host",
    "port": "port",
    "member_id": "member",
    "leader": "member",
    "session_id": "session",
    "producer_id": "producer",
    "leader_epoch": "epoch",
    "log_append_time_ms": "time",
    "batch_index_error_message": "text",
    "documentation": "text",
}
_IGNORED = (
    "unknown_tags",
    "error_message",
)  # whether there are words is each server's affair, and ours has more of them
_IGNORED_WITH_ERRORS = {"log_start_offset", "aborted_transactions"}  # set or unset, nobody reads them then
_UNSET: tuple[Any, ...] = (None, "", 0, -1, bytes(16))


class Target:
    """A server under a probe, and the ids of the topics that were made there."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.topic_ids: dict[str, bytes] = {}

    def connect(self) -> Wire:
        return Wire(self.port)

    def ask(self, request: Request, version: int | None = None) -> Any:
        """The outcome of one request on a connection of its own."""
        with self.connect() as wire:
            return wire.ask(request, version)

    def topic_id(self, name: str) -> bytes:
        return self.topic_ids[name]


class Wire:
    """A connection. Every outcome is CLOSED, SILENT or what was answered, ready to be compared."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, request: Request, version: int | None = None) -> Any:
        """Send a request, in its newest version unless told, and wait for its outcome."""
        self.send(frame(request, version))
        answer = self.answer_to(request, version)
        return answer if isinstance(answer, str) else comparable(answer)

    def answer_to(self, request: Request, version: int | None = None) -> Any:
        """The response itself, or CLOSED or SILENT."""
        payload = self.receive()
        if isinstance(payload, str):
            return payload
        key = _key(request)
        version = key.max_version if version is None else version
        _, position = parse_response_header(key, version, payload)
        response, end = response_codec(key, version).decode(payload, position)
        assert end == len(payload), "bytes behind the response"
        return response

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return  # receive() says that it is closed

    def end(self) -> None:
        """Say that nothing more will come; the other direction stays open."""
        self._socket.shutdown(socket.SHUT_WR)

    def receive(self, timeout_s: float = ANSWER_TIMEOUT_S) -> bytes | str:
        """The next frame's payload, CLOSED, or SILENT."""
        self._socket.settimeout(timeout_s)
        try:
            size = self._exactly(4)
            return self._exactly(_SIZE.unpack(size)[0])
        except (EOFError, ConnectionResetError, BrokenPipeError):
            return CLOSED
        except TimeoutError:
            return SILENT

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data


def frame(request: Request, version: int | None = None, correlation_id: int = 7) -> bytes:
    """A request as it goes over the wire, its size included."""
    key = _key(request)
    version = key.max_version if version is None else version
    payload = encode_request_header(key, version, correlation_id, "probe") + request_codec(key, version).encode(request)
    return _SIZE.pack(len(payload)) + payload


def sized(payload: bytes) -> bytes:
    """Bytes as a frame."""
    return _SIZE.pack(len(payload)) + payload


def comparable(value: Any, name: str = "") -> Any:
    """A response as nested dictionaries and lists, without what is each server's own affair."""
    if isinstance(value, Struct):
        told = {
            each: comparable(getattr(value, each), each)
            for each in vars(type(value))["__slots__"]
            if each not in _IGNORED
        }
        if told.get("error_code"):
            for each in _IGNORED_WITH_ERRORS & told.keys():
                del told[each]
        return told
    if isinstance(value, list):
        return _together([comparable(each, name) for each in value])
    if name in _OWN and not isinstance(value, Mapping):
        return value if value in _UNSET else _OWN[name]
    if name == "records" and value is not None:
        return batches(bytes(value))
    return value


def _together(rows: list[Any]) -> list[Any]:
    """Topics in one order, each once: Kafka answers them in that of a hash map, and a topic named twice once."""
    inner = next((name for name in ("partition_responses", "partitions") if rows and name in rows[0]), None)
    if inner is None or "is_internal" in rows[0]:
        return rows
    topics: dict[str, Any] = {}
    for row in rows:
        same = topics.setdefault(str({**row, inner: None}), {**row, inner: []})
        same[inner] = sorted([*same[inner], *row[inner]], key=str)
    return [topics[key] for key in sorted(topics) if topics[key][inner]]


def batches(data: bytes) -> list[Any]:
    """What the headers of the batches in `data` say; a cut one at the end is "cut"."""
    found: list[Any] = []
    position = 0
    while position < len(data):
        if len(data) - position < 61 or parse_header(data, position).size_in_bytes > len(data) - position:
            return [*found, "cut"]
        header = parse_header(data, position)
        found.append((header.base_offset, header.last_offset_delta, header.attributes, header.base_sequence))
        position += header.size_in_bytes
    return found


def _key(request: Request) -> ApiKey:
    key = request.__schema__.key
    assert key is not None
    return ApiKey(key)
