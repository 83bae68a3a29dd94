"""Stock clients by OAUTHBEARER: signed tokens over SASL_SSL, unsecured ones over SASL_PLAINTEXT, and wrong ones."""

import time
from collections.abc import Iterator

import pytest

from tests.compat.secured.clients import ALICE, CLIENTS, JAVA, NEEDED, OLD_JAVA, Secured, run
from tests.compat.secured.story import COMMITTED
from tests.support.probes.wire import Wire
from tests.support.security.credentials import allow
from tests.support.security.exchanges import unsecured_token
from tests.support.security.secured import OAUTHBEARER, SASL_PLAINTEXT, SASL_SSL, SecuredKafka, secured_kind
from tests.support.security.signing import published, signed_settings, signer

WITH_TOKENS = [client for client in CLIENTS if client != OLD_JAVA]
"""That one leaves the library that reads them to its user."""
THEIR_OWN = ("confluent-kafka", JAVA)
"""Clients that can make an unsecured token themselves."""
SAID = {"kafka-python": "Unable to bootstrap", "aiokafka": "not perform bootstrap", "kafkajs": "Closed connection"}
"""Of a token that is refused, where it is not of authentication."""


@pytest.fixture(scope="module")
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("secured")
    keys = directory / "keys.json"
    keys.write_bytes(published(signer()))
    server = secured_kind(request.config.getoption("--against"))(
        directory / "data",
        signed_settings(SASL_SSL, keys.as_uri()),
        listeners=(SASL_PLAINTEXT, SASL_SSL),
        mechanisms=(OAUTHBEARER,),
    )
    if isinstance(server, SecuredKafka):
        server.allow_url(keys.as_uri())
    with server:
        with Wire(server.port) as wire:
            allow(wire, {ALICE: NEEDED})
        yield Secured(server)
        assert "Traceback" not in server.log, server.log


@pytest.mark.parametrize("client", WITH_TOKENS)
def test_a_signed_token_lets_a_client_in(secured: Secured, client: str) -> None:
    done = run(client, secured.settings(SASL_SSL, OAUTHBEARER, f"{client}-signed", signer().token(ALICE)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(COMMITTED)


@pytest.mark.parametrize("client", WITH_TOKENS)
def test_an_unsecured_token_lets_a_client_in(secured: Secured, client: str) -> None:
    token = "" if client in THEIR_OWN else unsecured_token(ALICE)
    done = run(client, secured.settings(SASL_PLAINTEXT, OAUTHBEARER, f"{client}-unsecured", token))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(COMMITTED)


def _wrong_tokens() -> dict[str, str]:
    now_s = int(time.time())
    return {
        "another audience": signer().token(ALICE, aud="x"),
        "expired": signer().token(ALICE, iat=now_s - 90, exp=now_s - 40),
        "nobody's signature": unsecured_token(ALICE),
    }


@pytest.mark.parametrize(
    ("client", "wrong"),
    [
        ("confluent-kafka", "another audience"),
        ("kafka-python", "expired"),
        ("aiokafka", "nobody's signature"),
        (JAVA, "another audience"),
        ("sarama", "expired"),
        ("kafkajs", "nobody's signature"),
    ],
)  # franz-go tries again, without a word, until the time that it is given is over
def test_a_wrong_token_is_said_to_be_one(secured: Secured, client: str, wrong: str) -> None:
    done = run(client, secured.settings(SASL_SSL, OAUTHBEARER, f"{client}-wrong", _wrong_tokens()[wrong]))
    assert done.returncode == 1
    assert SAID.get(client, "uthenticat") in done.stderr, done.stderr
