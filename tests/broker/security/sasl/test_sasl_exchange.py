"""The stages of SASL: what may follow what."""

import pytest

from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed
from barnabas.broker.security.sasl.plain import PlainExchange
from barnabas.broker.security.sasl.sasl_exchange import IllegalStage, SaslExchange, SaslStage, UnsupportedMechanism


@pytest.fixture
def conversation() -> SaslExchange:
    return SaslExchange({"PLAIN": lambda: PlainExchange({"alice": "secret"}.get)})


@pytest.mark.parametrize("asks_versions", [True, False])
@pytest.mark.parametrize("tokens_are_bare", [True, False])
def test_a_handshake_and_a_token_prove_who_it_is(
    conversation: SaslExchange, asks_versions: bool, tokens_are_bare: bool
) -> None:
    if asks_versions:
        conversation.versions_requested()
    conversation.choose("PLAIN", tokens_are_bare=tokens_are_bare)
    assert conversation.stage is (SaslStage.BARE_TOKENS if tokens_are_bare else SaslStage.TOKENS)
    assert conversation.user is None
    assert conversation.respond(b"\0alice\0secret") == b""
    assert (str(conversation.stage), str(conversation.user)) == ("SaslStage.COMPLETE", "alice")


def test_a_mechanism_that_is_not_there_ends_it(conversation: SaslExchange) -> None:
    with pytest.raises(UnsupportedMechanism):
        conversation.choose("GSSAPI", tokens_are_bare=False)
    assert conversation.stage is SaslStage.FAILED
    assert conversation.offered == ["PLAIN"]


def test_a_wrong_password_ends_it(conversation: SaslExchange) -> None:
    conversation.choose("PLAIN", tokens_are_bare=False)
    with pytest.raises(SaslAuthenticationFailed):
        conversation.respond(b"\0alice\0wrong")
    with pytest.raises(IllegalStage):
        conversation.respond(b"\0alice\0secret")
    assert conversation.user is None


def test_a_token_before_the_handshake_ends_it(conversation: SaslExchange) -> None:
    with pytest.raises(IllegalStage, match="ApiVersions or SaslHandshake is awaited"):
        conversation.respond(b"\0alice\0secret")
    with pytest.raises(IllegalStage):
        conversation.choose("PLAIN", tokens_are_bare=False)


def test_versions_are_queried_once(conversation: SaslExchange) -> None:
    conversation.versions_requested()
    with pytest.raises(IllegalStage, match="SaslHandshake is awaited"):
        conversation.versions_requested()


def test_a_complete_login_accepts_no_more_tokens(conversation: SaslExchange) -> None:
    conversation.choose("PLAIN", tokens_are_bare=False)
    conversation.respond(b"\0alice\0secret")
    with pytest.raises(IllegalStage):
        conversation.respond(b"\0alice\0secret")
