"""Security settings from Kafka's properties: `security.protocol`, `ssl.*`, `sasl.*`, as in Java's clients.

Pure; no named file is opened. One property is not Kafka's: `sasl.oauthbearer.token.provider`, a Python function as
`module:callable`. Every error is one sentence that names the property and quotes no secret.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.security.login import login_of
from barnabas.client.security.settings import (
    SaslSettings,
    Secret,
    SecuritySettings,
    SettingsError,
    StoreSettings,
    TlsSettings,
)
from barnabas.protocol.security.listener_protocols import PROTOCOLS
from barnabas.protocol.security.stores.ciphers import split_suites

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
STORE_TYPES = ("JKS", "PKCS12", "PEM")
TLS_PROTOCOLS = ("TLSv1.2", "TLSv1.3")
KEYS = (
    "security.protocol",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "ssl.truststore.certificates",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "sasl.mechanism",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.oauthbearer.token.provider",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.scope",
)
"""The properties that are read here."""
_NOT_HERE = {
    "ssl.engine.factory.class": "a Java class cannot provide TLS here",
    "sasl.client.callback.handler.class": "a Java class cannot run here",
    "sasl.login.class": "a Java class cannot run here",
}


def is_security_key(key: str) -> bool:
    """Return whether it is a security property, including Java's own ones, which have no effect here."""
    return key == "security.protocol" or key.startswith(("ssl.", "sasl."))


def security_of(properties: Mapping[str, str]) -> SecuritySettings:
    """Return the settings of the properties; those that are not about security are ignored. SettingsError."""
    given = {key: value.strip() for key, value in properties.items() if value.strip()}
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SettingsError(f"security.protocol is {protocol!r}, and must be one of {', '.join(PROTOCOLS)}")
    for key, why in _NOT_HERE.items():
        if key in given and protocol != "PLAINTEXT":
            raise SettingsError(f"{key} cannot be set: {why}")
    return SecuritySettings(
        _tls(properties, given) if protocol.endswith("SSL") else None,
        _sasl(given) if protocol.startswith("SASL") else None,
    )


def _sasl(given: Mapping[str, str]) -> SaslSettings:
    mechanism = given.get("sasl.mechanism", "")
    if mechanism not in MECHANISMS:
        problem = f"is {mechanism!r}" if mechanism else "is not set, and its default, GSSAPI, is not supported here"
        raise SettingsError(f"sasl.mechanism {problem}: set it to one of {', '.join(MECHANISMS)}")
    login, extensions = login_of(mechanism, given)
    return SaslSettings(mechanism, login, extensions)


def _tls(properties: Mapping[str, str], given: Mapping[str, str]) -> TlsSettings:
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("", "https"):
        raise SettingsError(
            f"ssl.endpoint.identification.algorithm is {algorithm!r}, and must be https, or empty for no check"
        )
    protocols = _strings(given.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3"))
    for each in protocols:
        if each not in TLS_PROTOCOLS:
            raise SettingsError(f"ssl.enabled.protocols has {each!r}: only TLSv1.2 and TLSv1.3 are supported")
    suites = _strings(given.get("ssl.cipher.suites", ""))
    try:
        split_suites(list(suites))
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return TlsSettings(_trusted(given), _own(given), algorithm == "https", protocols, suites)


def _trusted(given: Mapping[str, str]) -> StoreSettings | None:
    texts = given.get("ssl.truststore.certificates")
    location = given.get("ssl.truststore.location")
    if texts is None and location is None:
        return None
    kind = _kind(given, "ssl.truststore.type")
    if texts is not None and (kind != "PEM" or location is not None):
        raise SettingsError(
            "ssl.truststore.certificates holds certificates in PEM itself: set ssl.truststore.type to PEM, and no"
            " ssl.truststore.location"
        )
    return StoreSettings(kind, location, _secret(given, "ssl.truststore.password"), certificates=texts)


def _own(given: Mapping[str, str]) -> StoreSettings | None:
    key, chain = given.get("ssl.keystore.key"), given.get("ssl.keystore.certificate.chain")
    location = given.get("ssl.keystore.location")
    if key is None and chain is None and location is None:
        return None
    kind = _kind(given, "ssl.keystore.type")
    password, key_password = _secret(given, "ssl.keystore.password"), _secret(given, "ssl.key.password")
    if key is None and chain is None:
        if kind != "PEM" and password is None:
            raise SettingsError(
                "ssl.keystore.password is not set, and without it no key can be read from the key store"
            )
        return StoreSettings(kind, location, password, key_password)
    if kind != "PEM" or location is not None or key is None or chain is None:
        raise SettingsError(
            "ssl.keystore.key and ssl.keystore.certificate.chain hold PEM themselves: set both, ssl.keystore.type to"
            " PEM, and no ssl.keystore.location"
        )
    return StoreSettings(kind, None, None, key_password, chain, Secret(key))


def _kind(given: Mapping[str, str], key: str) -> str:
    kind = given.get(key, "JKS").upper()
    if kind not in STORE_TYPES:
        raise SettingsError(f"{key} is {given[key]!r}, and must be one of {', '.join(STORE_TYPES)}")
    return kind


def _secret(given: Mapping[str, str], key: str) -> Secret | None:
    value = given.get(key)
    return None if value is None else Secret(value)


def _strings(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())
