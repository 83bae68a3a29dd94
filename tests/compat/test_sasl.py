"""What is refused over SASL_PLAINTEXT, to a stock client and to bytes by hand, on both servers.

Clients that are let in are in tests/compat/secured and in test_security_pages.py.
"""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.schema import Request
from tests.support.security.secured import ADMIN, SASL_PLAINTEXT, password_of, secured_kind
from tests.support.worlds.broker import request_frame

USERS = [("PLAIN", "alice"), ("SCRAM-SHA-256", ADMIN)]
FAILED = {
    "PLAIN": "Authentication failed: Invalid username or password",
    "SCRAM-SHA-256": "Authentication failed during authentication due to invalid credentials with SASL mechanism "
    "SCRAM-SHA-256",
}
VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")


@pytest.fixture(scope="module")
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Of SASL_PLAINTEXT."""
    kind = secured_kind(request.config.getoption("--against"))
    data = tmp_path_factory.mktemp("secured") / "data"
    with kind(data, users=("alice",), scram_users=(ADMIN,), has_authorizer=False) as server:
        yield server.ports[SASL_PLAINTEXT]


def librdkafka(port: int, mechanism: str, user: str, password: str | None = None) -> dict[str, Any]:
    return {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password_of(user) if password is None else password,
    }


@pytest.mark.parametrize(("mechanism", "user"), USERS)
def test_a_wrong_password_is_told_to_clients_in_kafkas_words(port: int, mechanism: str, user: str) -> None:
    told: list[KafkaError] = []
    settings = librdkafka(port, mechanism, user, "wrong") | {"error_cb": told.append}
    client = AdminClient(settings)
    with pytest.raises(KafkaException):
        client.list_topics(timeout=2)
    client.poll(1)
    assert any(error.code() == KafkaError._AUTHENTICATION and FAILED[mechanism] in error.str() for error in told), told


class Bytes:
    """A connection by hand."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._file = self._socket.makefile("rb")

    def ask(self, request: Request, version: int) -> None:
        self.send(request_frame(request, version)[4:])

    def send(self, frame: bytes) -> None:
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def answers(self) -> list[bytes]:
        """What comes until the server closes, without sizes and correlation ids."""
        found = []
        while size := self._file.read(4):
            found.append(self._file.read(int.from_bytes(size, "big"))[4:])
        self._file.close()
        self._socket.close()
        return found

    def answer(self) -> bytes:
        return self._file.read(int.from_bytes(self._file.read(4), "big"))[4:]


@pytest.fixture
def raw(port: int) -> Bytes:
    return Bytes(port)


HANDSHAKE = SaslHandshakeRequest(mechanism="PLAIN")
ALICE = SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + password_of("alice").encode())
ILLEGAL = ErrorCode.ILLEGAL_SASL_STATE.to_bytes(2, "big")


def test_an_unknown_mechanism_is_told_those_there_are(raw: Bytes) -> None:
    raw.ask(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
    (answer,) = raw.answers()
    assert answer[:2] == ErrorCode.UNSUPPORTED_SASL_MECHANISM.to_bytes(2, "big")
    assert [name in answer for name in (b"PLAIN", b"SCRAM-SHA-256", b"SCRAM-SHA-512")] == [True] * 3


@pytest.mark.parametrize(
    "frames",
    [
        [(MetadataRequest(topics=[]), 9)],
        [(ALICE, 1)],
        [(VERSIONS, 3), (VERSIONS, 3)],
        [(VERSIONS, 3), (MetadataRequest(topics=[]), 9)],
    ],
)
def test_what_has_no_place_before_the_handshake_is_closed(raw: Bytes, frames: list[tuple[Request, int]]) -> None:
    for request, version in frames[:-1]:
        raw.ask(request, version)
        assert raw.answer()
    raw.ask(*frames[-1])
    assert raw.answers() == []


@pytest.mark.parametrize("request_and_version", [(HANDSHAKE, 1), (VERSIONS, 3)])
def test_what_has_no_place_between_tokens_is_told_so(raw: Bytes, request_and_version: tuple[Request, int]) -> None:
    raw.ask(HANDSHAKE, 1)
    assert raw.answer()[:2] == b"\0\0"
    raw.ask(*request_and_version)
    (answer,) = raw.answers()
    assert answer[:2] == ILLEGAL


def test_metadata_between_tokens_is_told_so(raw: Bytes) -> None:
    raw.ask(HANDSHAKE, 1)
    raw.answer()
    raw.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 4)
    (answer,) = raw.answers()
    assert ILLEGAL + b"\0\x01t" in answer  # the topic's error, and its name


def test_garbage_is_closed(raw: Bytes) -> None:
    raw.send(b"\x60" + bytes(100))
    assert raw.answers() == []


def test_a_frame_of_more_than_a_token_needs_is_closed(raw: Bytes) -> None:
    raw._socket.sendall((524289).to_bytes(4, "big"))
    assert raw.answers() == []


def test_bare_tokens_follow_the_oldest_handshake(raw: Bytes) -> None:
    raw.ask(HANDSHAKE, 0)
    assert raw.answer()[:2] == b"\0\0"
    raw.send(ALICE.auth_bytes)
    assert raw._file.read(4) == bytes(4)  # an empty token
    raw.ask(HANDSHAKE, 1)
    assert raw.answer()[:2] == ILLEGAL
    raw.ask(ALICE, 1)
    assert raw.answer()[:2] == ILLEGAL


def test_a_wrong_bare_token_is_closed_without_a_word(raw: Bytes) -> None:
    raw.ask(HANDSHAKE, 0)
    raw.answer()
    raw.send(b"\0alice\0wrong")
    assert raw.answers() == []
