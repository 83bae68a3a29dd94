"""Signed tokens of OAUTHBEARER on both servers: the same ones are taken and refused, and clients log in with them."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from joserfc.jwk import ECKey
from kafka import KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.security.properties import security_of
from barnabas.protocol.errors import ErrorCode
from tests.support.security.secured import OAUTHBEARER, SASL_PLAINTEXT, SecuredKafka, SecuredServer, secured_kind
from tests.support.security.signing import AUDIENCE, Signer, published, signed_settings, signer
from tests.support.security.told import INVALID, told_at_the_end, told_to_token

DELAY_S = 0.1
"""connection.failed.authentication.delay.ms, as it is unless it is set."""
NEXT, STRANGER = Signer("next"), Signer("one")


class Secured:
    """A server, and the file with the keys that it judges by."""

    def __init__(self, server: SecuredServer, keys: Path) -> None:
        self.port = server.ports[SASL_PLAINTEXT]
        self.keys = keys

    def told(self, token: str) -> bytes:
        """What is said to a token; nothing to a good one."""
        return told_to_token(self.port, token)


@pytest.fixture(scope="module")
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("signed")
    keys = directory / "keys.json"
    keys.write_bytes(published(signer()))
    settings = signed_settings(SASL_PLAINTEXT, keys.as_uri())
    kind = secured_kind(request.config.getoption("--against"))
    server = kind(directory / "data", settings, mechanisms=(OAUTHBEARER,), has_authorizer=False)
    if isinstance(server, SecuredKafka):
        server.allow_url(keys.as_uri())
    with server:
        yield Secured(server, keys)


def part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def tokens() -> dict[str, tuple[str, bool]]:
    """By what is odd about them: tokens, and whether both servers take them."""
    now_s, by = int(time.time()), signer()
    return {
        "nothing": (by.token(), True),
        "no key id": (Signer(None, by.key).token(), True),
        "one of several audiences": (by.token(aud=["x", AUDIENCE]), True),
        "issued in the future": (by.token(iat=now_s + 600, exp=now_s + 900), True),
        "expired within the skew": (by.token(iat=now_s - 60, exp=now_s - 5), True),
        "a duration as a fraction": (by.token(exp=now_s + 60.5), True),
        "an odd header": (by.token(header={"typ": "at+jwt", "x": [1]}), True),
        "a scope that is a number": (by.token(scope=5), True),
        "an empty list of scopes": (by.token(scope=[]), True),
        "another audience": (by.token(aud="x"), False),
        "no audience": (by.token(aud=None), False),
        "another issuer": (by.token(iss="x"), False),
        "expired": (by.token(iat=now_s - 90, exp=now_s - 40), False),
        "not yet": (by.token(nbf=now_s + 50), False),
        "no expiry": (by.token(exp=None), False),
        "no time of issue": (by.token(iat=None), False),
        "expired before issued": (by.token(iat=now_s + 90), False),
        "nobody": (by.token(sub=None), False),
        "a blank name": (by.token(user="  "), False),
        "a number for a name": (by.token(sub=5), False),
        "an id that is a number": (by.token(jti=5), False),
        "a scope twice": (by.token(scope=["a", "a"]), False),
        "a blank scope": (by.token(scope=" "), False),
        "an unknown key": (NEXT.token(), False),
        "a stranger's signature": (STRANGER.token(), False),
        "nobody's signature": (f"{part({'alg': 'none'})}.{part({'sub': 'alice', 'exp': now_s + 60})}.", False),
        "two parts": ("a.b", False),
        "no JSON": ("a.b.c", False),
    }


@pytest.mark.parametrize("odd", tokens())
def test_the_same_tokens_are_taken_and_refused(secured: Secured, odd: str) -> None:
    token, is_good = tokens()[odd]
    assert secured.told(token) == (b"" if is_good else INVALID)


@pytest.mark.parametrize("odd", ["another audience", "expired", "nobody's signature"])
def test_a_refused_token_ends_the_connection_after_the_delay(secured: Secured, odd: str) -> None:
    begin = time.monotonic()
    assert told_at_the_end(secured.port, tokens()[odd][0]) == (ErrorCode.SASL_AUTHENTICATION_FAILED, INVALID.decode())
    assert time.monotonic() - begin >= DELAY_S


def test_a_key_of_another_kind_is_not_taken_for_one(secured: Secured) -> None:
    other = Signer("one", ECKey.generate_key("P-384", {"kid": "one"}))
    assert secured.told(other.token(header={"alg": "ES384"})) == INVALID


def test_keys_may_be_replaced_while_it_runs(secured: Secured) -> None:
    assert secured.told(NEXT.token())
    try:
        secured.keys.write_bytes(published(NEXT))
        assert (secured.told(NEXT.token()), secured.told(signer().token())) == (b"", INVALID)
    finally:
        secured.keys.write_bytes(published(signer()))


def test_librdkafka_logs_in_by_its_callback(secured: Secured) -> None:
    settings: dict[str, Any] = {
        "bootstrap.servers": f"127.0.0.1:{secured.port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": OAUTHBEARER,
        "oauth_cb": lambda _: (signer().token(), time.time() + 60),
    }
    producer = Producer(settings)
    delivered: list[object] = []
    producer.produce("signed", b"one", on_delivery=lambda error, _: delivered.append(error))
    assert (producer.flush(20), delivered) == (0, [None])


class OfTests(AbstractTokenProvider):
    """Named by clients that take a provider as an object."""

    def token(self) -> str:
        return signer().token()


def test_kafka_python_logs_in_by_its_provider(secured: Secured) -> None:
    settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": OAUTHBEARER}
    address = f"127.0.0.1:{secured.port}"
    with KafkaProducer(bootstrap_servers=address, sasl_oauth_token_provider=OfTests(), **settings) as producer:
        producer.send("signed", b"one").get(20)


def provided() -> tuple[str, float]:
    """A token provider of our own client's users."""
    return signer().token(), (time.time() + 60) * 1000


def test_our_own_client_logs_in_by_its_provider(secured: Secured) -> None:
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": OAUTHBEARER,
        "sasl.oauthbearer.token.provider": f"{__name__}:provided",
    }
    with Client(f"127.0.0.1:{secured.port}", security=security_of(properties), timeout_ms=20_000) as client:
        create_topic(client, "by-our-own-client")
