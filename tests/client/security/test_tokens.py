"""Where tokens come from, and how long one is used."""

import json
import threading
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from barnabas.client.security.settings import EndpointLogin, ProvidedLogin, Secret, SettingsError, UnsecuredLogin
from barnabas.client.security.tokens import TokenFailed, TokenSource
from tests.support.client_clock import StandingClock


def token_of_a_test() -> tuple[str, int]:
    """What `module:callable` names below."""
    return "token", StandingClock().now_ms() + 1000


def test_a_token_function_is_called_again_when_most_of_the_lifetime_has_passed() -> None:
    clock = StandingClock()
    given: list[str] = []

    def provider() -> tuple[str, float]:
        given.append(f"token-{len(given)}")
        return given[-1], clock.now_ms() + 100_000

    source = TokenSource(ProvidedLogin(provider), clock)
    assert [source.token(), source.token()] == ["token-0", "token-0"]
    clock.sleep(79)
    assert source.token() == "token-0"
    clock.sleep(2)
    assert source.token() == "token-1"


def test_a_function_is_found_by_its_name() -> None:
    assert TokenSource(ProvidedLogin(f"{__name__}:token_of_a_test"), StandingClock()).token() == "token"


@pytest.mark.parametrize("name", ["no_such_module:token", f"{__name__}:no_such_function", f"{__name__}:json"])
def test_a_function_that_there_is_not_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"sasl.oauthbearer.token.provider: {name} (cannot be imported|is no)"):
        TokenSource(ProvidedLogin(name), StandingClock())


@pytest.mark.parametrize("given", ["token", ("token",), ("", 1e15), (b"token", 1e15), ("to\nken", 1e15), ("a", "b")])
def test_an_invalid_token_is_not_sent(given: Any) -> None:
    with pytest.raises(TokenFailed, match="must return"):
        TokenSource(ProvidedLogin(lambda: given), StandingClock()).token()


def test_an_expiry_in_seconds_is_seen() -> None:
    clock = StandingClock()
    with pytest.raises(TokenFailed, match=r"has expired .*milliseconds since 1970"):
        TokenSource(ProvidedLogin(lambda: ("token", clock.now_ms() / 1000 + 900)), clock).token()


def test_a_function_that_fails_gives_the_reason() -> None:
    def provider() -> tuple[str, float]:
        raise RuntimeError("no credentials found")

    with pytest.raises(TokenFailed, match="the token provider failed: RuntimeError: no credentials found"):
        TokenSource(ProvidedLogin(provider), StandingClock()).token()


def test_an_unsecured_token_has_the_claims_and_no_signature() -> None:
    token = TokenSource(UnsecuredLogin((("sub", "alice"), ("scope", ("a", "b"))), 60), StandingClock()).token()
    header, payload, signature = token.split(".")
    assert (json.loads(_decoded(header)), signature) == ({"alg": "none"}, "")
    claims = json.loads(_decoded(payload))
    assert (claims["sub"], claims["scope"], claims["exp"] - claims["iat"]) == ("alice", ["a", "b"], 60)


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


class Endpoint:
    """An authorization server."""

    def __init__(self) -> None:
        self.status, self.answer = 200, b'{"access_token":"signed","expires_in":60}'
        self.asked: list[tuple[str | None, bytes]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.asked.append((self.headers["Authorization"], body))
                self.send_response(endpoint.status)
                self.end_headers()
                self.wfile.write(endpoint.answer)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    @property
    def login(self) -> EndpointLogin:
        return EndpointLogin(f"http://127.0.0.1:{self.server.server_port}/token", "me", Secret("s3cr3t"), "kafka")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    thread = threading.Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


def test_an_authorization_server_is_queried(endpoint: Endpoint) -> None:
    assert TokenSource(endpoint.login, StandingClock()).token() == "signed"
    assert endpoint.asked == [("Basic bWU6czNjcjN0", b"grant_type=client_credentials&scope=kafka")]


@pytest.mark.parametrize(
    ("status", "answer", "sentence"),
    [(401, b"{}", "HTTP 401"), (200, b"[]", "its response is not"), (200, b"{}", "its response is not")],
)
def test_a_server_that_gives_none_is_named(endpoint: Endpoint, status: int, answer: bytes, sentence: str) -> None:
    endpoint.status, endpoint.answer = status, answer
    with pytest.raises(TokenFailed, match=sentence) as failed:
        TokenSource(endpoint.login, StandingClock()).token()
    assert endpoint.login.url in str(failed.value)
    assert "s3cr3t" not in str(failed.value)
