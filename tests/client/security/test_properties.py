"""Kafka's properties become settings; what makes no sense is refused in one sentence, and nobody is shown a secret."""

import pickle

import pytest

from barnabas.client.security.properties import KEYS, security_of
from barnabas.client.security.settings import (
    EndpointLogin,
    PasswordLogin,
    ProvidedLogin,
    Secret,
    SecuritySettings,
    SettingsError,
    StoreSettings,
    UnsecuredLogin,
)

_SECRET_KEYS = (
    "ssl.truststore.password",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.key.password",
    "sasl.jaas.config",
    "sasl.oauthbearer.client.credentials.client.secret",
)
_MODULES = "org.apache.kafka.common.security"
SCRAM = f'{_MODULES}.scram.ScramLoginModule required username="alice" password="s3cr3t";'
BEARER = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required"


def sasl(mechanism: str, jaas: str = "", **more: str) -> dict[str, str]:
    named = {key.replace("_", "."): value for key, value in more.items()}
    return {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas, **named}


def test_nothing_is_no_security() -> None:
    assert security_of({}) == security_of({"security.protocol": "plaintext"}) == SecuritySettings()
    assert security_of({}).protocol == "PLAINTEXT"


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_protocol_is_what_it_says(protocol: str) -> None:
    found = security_of(sasl("SCRAM-SHA-512", SCRAM) | {"security.protocol": protocol})
    assert found.protocol == protocol
    assert (found.tls is not None, found.sasl is not None) == ("SSL" in protocol, "SASL" in protocol)


def test_a_user_and_a_password_are_found_in_the_login_module() -> None:
    found = security_of(sasl("SCRAM-SHA-256", SCRAM)).sasl
    assert found is not None
    assert found.login == PasswordLogin("alice", Secret("s3cr3t"))


def test_stores_are_named_and_not_opened() -> None:
    found = security_of(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": "/not/there/trust.jks",
            "ssl.truststore.password": "changeit",
            "ssl.keystore.type": "pkcs12",
            "ssl.keystore.location": "/not/there/own.p12",
            "ssl.keystore.password": "changeit",
            "ssl.key.password": "changeit",
            "ssl.endpoint.identification.algorithm": "",
            "ssl.enabled.protocols": "TLSv1.3",
        }
    ).tls
    assert found is not None
    assert found.trusted == StoreSettings("JKS", "/not/there/trust.jks", Secret("changeit"))
    assert found.own == StoreSettings("PKCS12", "/not/there/own.p12", Secret("changeit"), Secret("changeit"))
    assert (found.checks_hostname, found.enabled_protocols) == (False, ("TLSv1.3",))


def test_tokens_come_from_a_function_an_endpoint_or_nobody() -> None:
    def login(found: SecuritySettings) -> object:
        assert found.sasl is not None
        return found.sasl.login

    provided = security_of(sasl("OAUTHBEARER", sasl_oauthbearer_token_provider="signer:token"))
    assert login(provided) == ProvidedLogin("signer:token")
    url = {"sasl.oauthbearer.token.endpoint.url": "https://login.example/token"}
    older = sasl("OAUTHBEARER", f'{BEARER} clientId="me" clientSecret="s3cr3t" scope="kafka";')
    assert login(security_of(older | url)) == EndpointLogin(
        "https://login.example/token", "me", Secret("s3cr3t"), "kafka"
    )
    named = "sasl.oauthbearer.client.credentials.client"
    newer = sasl("OAUTHBEARER") | {f"{named}.id": "me", f"{named}.secret": "s3cr3t"} | url
    assert login(security_of(newer)) == EndpointLogin("https://login.example/token", "me", Secret("s3cr3t"))
    claims = 'unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope="|a|b" extension_team="blue"'
    unsecured = security_of(sasl("OAUTHBEARER", f"{BEARER} {claims};"))
    assert login(unsecured) == UnsecuredLogin((("sub", "alice"), ("scope", ("a", "b"))))
    assert unsecured.sasl is not None
    assert unsecured.sasl.extensions == (("team", "blue"),)


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS', and must be one of PLAINTEXT, SSL"),
        (
            {"security.protocol": "SASL_SSL"},
            "sasl.mechanism is not set, and its default, GSSAPI, is not supported here",
        ),
        (sasl("GSSAPI"), "sasl.mechanism is 'GSSAPI': set it to one of PLAIN"),
        (sasl("PLAIN"), "PLAIN needs sasl.jaas.config, as in: org.apache.kafka"),
        (sasl("PLAIN", SCRAM), "ScramLoginModule, but PLAIN uses .*PlainLoginModule"),
        (sasl("SCRAM-SHA-256", SCRAM * 2), "has 2 login modules"),
        (sasl("SCRAM-SHA-256", SCRAM.removesuffix(";")), "sasl.jaas.config: .*Module: the ; at its end is missing"),
        (sasl("SCRAM-SHA-256", f"{_MODULES}.scram.ScramLoginModule required username=alice;"), "has no password"),
        (sasl("OAUTHBEARER"), "OAUTHBEARER needs a token: set sasl.oauthbearer.token.provider or"),
        (sasl("OAUTHBEARER", sasl_oauthbearer_token_provider="signer"), "must be module:callable"),
        (sasl("OAUTHBEARER", sasl_oauthbearer_token_endpoint_url="login"), "must begin with https://"),
        (sasl("OAUTHBEARER", sasl_oauthbearer_token_endpoint_url="https://a/"), "one of the two is missing"),
        (sasl("OAUTHBEARER", sasl_login_callback_handler_class="com.example.Mine"), "names a Java class"),
        (sasl("PLAIN", SCRAM, sasl_oauthbearer_token_provider="a:b"), "but sasl.mechanism is PLAIN"),
        ({"security.protocol": "SSL", "ssl.truststore.type": "BKS", "ssl.truststore.location": "x"}, "is 'BKS'"),
        ({"security.protocol": "SSL", "ssl.truststore.certificates": "x"}, "set ssl.truststore.type to PEM"),
        ({"security.protocol": "SSL", "ssl.keystore.key": "x", "ssl.keystore.type": "PEM"}, "set both"),
        ({"security.protocol": "SSL", "ssl.keystore.location": "x"}, "ssl.keystore.password is not set"),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.1"}, "only TLSv1.2 and TLSv1.3"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "AES"}, "ssl.cipher.suites: AES is unknown"),
        ({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldap"}, "must be https, or empty"),
        ({"security.protocol": "SSL", "ssl.engine.factory.class": "Mine"}, "a Java class cannot provide TLS here"),
    ],
)
def test_invalid_input_is_refused_in_a_sentence(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence) as refused:
        security_of(properties)
    assert "s3cr3t" not in str(refused.value)


def test_no_secret_is_shown_and_all_travel() -> None:
    secrets = {key: f"s3cr3t-{number}" for number, key in enumerate(_SECRET_KEYS) if key != "sasl.jaas.config"}
    stores = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "chain",
        "ssl.truststore.location": "trust.jks",
    }
    found = security_of(sasl("SCRAM-SHA-512", SCRAM) | secrets | stores)
    assert "s3cr3t" not in f"{found!r} {found}"
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert set(_SECRET_KEYS) < set(KEYS)
