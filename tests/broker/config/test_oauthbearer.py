"""Which tokens a listener takes: signed ones where Kafka's handler is named, and never others by a slip."""

from typing import Any

import pytest

from barnabas.broker.config import ConfigError, load_config
from barnabas.broker.config.environment import read_environment
from barnabas.broker.config.java_options import ALLOWED_URLS
from barnabas.broker.config.load import LoadedConfig
from barnabas.broker.config.sasl.oauthbearer_settings import SIGNED_HANDLER, UNSECURED_HANDLER, SignedTokens
from barnabas.broker.config.sasl.sasl_settings import sasl_settings

OWN = "listener.name.sasl_plaintext.oauthbearer."
URL = "https://issuer.test/keys"
PACKAGE = "org.apache.kafka.common.security.oauthbearer"
LISTENER = ["listeners=SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms=OAUTHBEARER"]
SIGNED = [
    *LISTENER,
    f"{OWN}sasl.server.callback.handler.class={SIGNED_HANDLER}",
    f"sasl.oauthbearer.jwks.endpoint.url={URL}",
    "sasl.oauthbearer.expected.audience=kafka,other",
    "sasl.oauthbearer.expected.issuer=https://issuer.test",
]


def load(*settings: str, options: str = f"-D{ALLOWED_URLS}={URL}") -> LoadedConfig:
    return load_config(settings=settings, environment=read_environment({"KAFKA_OPTS": options}))


def found(*settings: str) -> SignedTokens:
    signed = sasl_settings(load(*settings).config, "SASL_PLAINTEXT").signed_tokens
    assert signed is not None
    return signed


def test_signed_tokens_are_taken_as_kafka_is_told_so() -> None:
    assert load(*SIGNED).warnings == []
    assert found(*SIGNED) == SignedTokens(
        URL, 3_600_000, 100, 10_000, ("kafka", "other"), "https://issuer.test", 30, "sub", "scope", {}
    )


def test_a_mechanism_has_settings_of_its_own_before_the_listeners_and_these_before_the_brokers() -> None:
    own = found(
        *SIGNED,
        f"{OWN}sasl.oauthbearer.expected.audience=mine",
        "listener.name.sasl_plaintext.sasl.oauthbearer.expected.audience=listeners",
        "listener.name.sasl_plaintext.sasl.oauthbearer.clock.skew.seconds=5",
        f"{OWN}sasl.oauthbearer.sub.claim.name=email",
        f"{OWN}sasl.oauthbearer.jwt.validator.class={PACKAGE}.BrokerJwtValidator",
        f'{OWN}sasl.jaas.config={PACKAGE}.OAuthBearerLoginModule required ssl.truststore.location="/x" '
        "ssl.truststore.type=PEM;",
    )
    assert (own.audiences, own.skew_s, own.subject_claim) == (("mine",), 5, "email")
    assert own.trust == {"location": "/x", "type": "PEM"}


def test_any_audience_and_issuer_is_accepted_where_that_is_configured() -> None:
    own = found(*SIGNED[:4], *(f"sasl.oauthbearer.allow.unverified.{what}=true" for what in ("audience", "issuer")))
    assert (own.audiences, own.issuer) == ((), None)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["sasl.oauthbearer.jwks.endpoint.url="], "jwks.endpoint.url must be set"),
        (["sasl.oauthbearer.jwks.endpoint.url=keys.json"], "not a URL that begins with"),
        (["sasl.oauthbearer.jwks.endpoint.url=ftp://x/"], "not a URL that begins with"),
        (["sasl.oauthbearer.jwks.endpoint.url=https:///x"], "not a URL that begins with"),
        (["sasl.oauthbearer.jwks.endpoint.url=https://x:port/"], "is not a URL"),
        (["sasl.oauthbearer.jwks.endpoint.url=https://other.test/"], f"is not in the list -D{ALLOWED_URLS}"),
        (["sasl.oauthbearer.expected.audience="], "expected.audience must be set, or .*allow.unverified.audience"),
        (["sasl.oauthbearer.expected.issuer="], "expected.issuer must be set, or .*allow.unverified.issuer"),
        (["sasl.oauthbearer.jwks.endpoint.refresh.ms=0"], "must be more than 0"),
        (["sasl.oauthbearer.sub.claim.name="], "does not name a claim"),
        ([f"{OWN}sasl.oauthbearer.jwt.validator.class={PACKAGE}.ClientJwtValidator"], "names a class"),
        ([f"{OWN}sasl.server.callback.handler.class=x.Y"], "names a class that this broker cannot load"),
        (
            [f"{OWN}sasl.server.callback.handler.class={PACKAGE}.secured.OAuthBearerValidatorCallbackHandler"],
            f"since Kafka 4.0 it is {SIGNED_HANDLER}",
        ),
        (
            [f"{OWN}sasl.jaas.config={PACKAGE}.OAuthBearerLoginModule required ssl.keystore.password=secret;"],
            "the option ssl.keystore.password has no effect",
        ),
    ],
)
def test_unusable_settings_refuse_to_start(more: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as refused:
        load(*SIGNED, *more)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("handler", [[], [f"{OWN}sasl.server.callback.handler.class={UNSECURED_HANDLER}"]])
@pytest.mark.parametrize("setting", SIGNED[3:])
def test_a_validator_of_signed_tokens_refuses_unsigned_ones(handler: list[str], setting: str) -> None:
    with pytest.raises(ConfigError, match="requires signed tokens, which are accepted only if"):
        load(*LISTENER, *handler, setting)
    (warning,) = load(*LISTENER, *handler).warnings
    assert "accepts unsigned OAUTHBEARER tokens" in warning


def test_without_the_list_of_urls_it_is_said_that_kafka_needs_one() -> None:
    (warning,) = load(*SIGNED, options="").warnings
    assert warning.endswith(f"KAFKA_OPTS=-D{ALLOWED_URLS}={URL}")


def test_client_settings_have_no_effect_here() -> None:
    (warning,) = load(*SIGNED, "sasl.oauthbearer.token.endpoint.url=https://issuer.test/token").warnings
    assert warning.startswith("no effect here: sasl.oauthbearer.token.endpoint.url.")


def test_the_library_is_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_there(name: str) -> Any:
        return None

    monkeypatch.setattr("barnabas.broker.config.sasl.oauthbearer_settings.find_spec", not_there)
    with pytest.raises(ConfigError, match="pip install 'barnabas\\[secure\\]'"):
        load(*SIGNED)
