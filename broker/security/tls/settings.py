"""Kafka's ssl.* settings of one listener, read into values and checked together as Kafka checks them.

Knows which settings exclude each other, what is refused, and no file: `stores.py` opens those. Sentences that Kafka has
are Kafka's. Java's own classes (engines, providers, random generators) cannot be loaded and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from barnabas.broker.security.tls.principal_mapping import DEFAULT_RULES, PrincipalMapper
from barnabas.protocol.security.stores.ciphers import TLS_1_3_SUITES, split_suites
from barnabas.protocol.security.stores.identity import StoreError

PEM = "PEM"
TYPES = (PEM, "JKS", "PKCS12")
TLS_1_2, TLS_1_3 = "TLSv1.2", "TLSv1.3"
_NO_LONGER_SPOKEN = frozenset({"TLSv1", "TLSv1.1", "SSLv3", "SSLv2Hello"})
"""Java, too, knows the names of these versions, and supports none of them."""
_OF_JAVA = ("ssl.engine.factory.class", "ssl.provider")
_CLIENT_AUTH = "ssl.client.auth"


class TlsSettingsSource(Protocol):
    """The settings in force for a listener."""

    def name(self, key: str) -> str:
        """Return under which name the key is in force."""

    def text(self, key: str) -> str | None:
        """Return the value as it was written."""

    def strings(self, key: str) -> list[str]:
        """Return the elements of a list."""


@dataclass(frozen=True)
class ListenerStoreSettings:
    """The location of a key store or a trust store, and its passwords."""

    type: str
    location: str | None
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    """A private key in PEM, in the configuration itself."""
    certificates: str | None = field(default=None, repr=False)
    """Certificates in PEM, in the configuration itself: those of `key`, or those that are trusted."""


@dataclass(frozen=True)
class ListenerTlsSettings:
    """The TLS settings of one listener."""

    key_store: ListenerStoreSettings
    trust_store: ListenerStoreSettings | None
    protocols: tuple[str, ...]
    suites: tuple[str, ...]
    """The suites of TLS 1.2, by OpenSSL's names; empty for its own."""
    client_auth: str
    mapping_rules: str
    allows_dn_changes: bool = False
    """Whether a key store that follows this one may have another subject."""
    allows_san_changes: bool = False
    """Whether it may lack an alternative name."""


def read_settings(settings: TlsSettingsSource, *, is_sasl: bool) -> ListenerTlsSettings:
    """Read a listener's settings. Raises StoreError with a sentence for what Kafka or we refuse.

    `is_sasl`: clients authenticate by SASL, so that ssl.client.auth counts only where it is this listener's own.
    """
    for key in _OF_JAVA:
        if settings.text(key):
            raise StoreError(f"{settings.name(key)}: classes and providers of Java cannot be loaded: remove it")
    protocols, suites = _protocols_and_suites(settings)
    client_auth = (settings.text(_CLIENT_AUTH) or "none").strip()
    if is_sasl and settings.name(_CLIENT_AUTH) == _CLIENT_AUTH:
        client_auth = "none"
    given = settings.text("ssl.principal.mapping.rules")
    rules = DEFAULT_RULES if given is None else given  # an empty list has no rule, and then no client is accepted
    try:
        PrincipalMapper(rules)
    except ValueError as wrong:
        raise StoreError(f"ssl.principal.mapping.rules: {wrong}") from wrong
    allowed = [settings.text(key) == "true" for key in ("ssl.allow.dn.changes", "ssl.allow.san.changes")]
    stores = _key_store(settings), _trust_store(settings)
    return ListenerTlsSettings(*stores, protocols, suites, client_auth, rules, *allowed)


def _protocols_and_suites(settings: TlsSettingsSource) -> tuple[tuple[str, ...], tuple[str, ...]]:
    key = settings.name("ssl.enabled.protocols")
    named = settings.strings("ssl.enabled.protocols") or [TLS_1_2, TLS_1_3]
    protocols = [each for each in named if each not in _NO_LONGER_SPOKEN] or named
    for protocol in protocols:
        if protocol not in (TLS_1_2, TLS_1_3):
            raise StoreError(f"{key}: {protocol} is not supported: {TLS_1_2} and {TLS_1_3} are")
    names = settings.strings("ssl.cipher.suites")
    if not names:
        return tuple(protocols), ()
    try:
        newer, older = split_suites(names)
    except ValueError as wrong:
        raise StoreError(str(wrong)) from wrong
    # OpenSSL, as Python has it, offers either all suites of TLS 1.3 or not this version.
    left = [each for each in protocols if older or each != TLS_1_2]
    if len(newer) < len(TLS_1_3_SUITES):
        left = [each for each in left if each != TLS_1_3]
    if not left:
        raise StoreError(
            f"{settings.name('ssl.cipher.suites')}: it has no suite of an enabled protocol; {TLS_1_3} is offered "
            f"only if all of its suites are named: {', '.join(TLS_1_3_SUITES)}"
        )
    return tuple(left), tuple(older)


def _key_store(settings: TlsSettingsSource) -> ListenerStoreSettings:
    location, password = _set(settings, "ssl.keystore.location"), _set(settings, "ssl.keystore.password")
    key, chain = _set(settings, "ssl.keystore.key"), _set(settings, "ssl.keystore.certificate.chain")
    kind = _type(settings, "ssl.keystore.type")
    if key is not None:
        _check(kind == PEM, f"SSL private key can be specified only for PEM, but key store type is {kind}.")
        _check(chain is not None, "SSL private key is specified, but certificate chain is not specified.")
        _check(location is None, "Both SSL key store location and separate private key are specified.")
    _check(chain is None or key is not None, "SSL certificate chain is specified, but private key is not specified")
    if kind == PEM and (key is not None or location is not None):
        only_key = "SSL key store password cannot be specified with PEM format, only key password may be specified."
        _check(password is None, only_key)
    elif location is None:
        _check(password is None, "SSL key store is not specified, but key store password is specified.")
        raise StoreError("there is no key store: set ssl.keystore.location")
    else:
        _check(password is not None, "SSL key store is specified, but key store password is not specified.")
    return ListenerStoreSettings(kind, location, password, _set(settings, "ssl.key.password"), key, chain)


def _trust_store(settings: TlsSettingsSource) -> ListenerStoreSettings | None:
    location, password = _set(settings, "ssl.truststore.location"), _set(settings, "ssl.truststore.password")
    certificates = _set(settings, "ssl.truststore.certificates")
    kind = _type(settings, "ssl.truststore.type")
    if certificates is not None:
        _check(kind == PEM, f"SSL trust store certs can be specified only for PEM, but trust store type is {kind}.")
        _check(location is None, "Both SSL trust store location and separate trust certificates are specified.")
    elif location is None:
        _check(password is None, "SSL trust store is not specified, but trust store password is specified.")
        return None
    _check(kind != PEM or password is None, "SSL trust store password cannot be specified for PEM format.")
    return ListenerStoreSettings(kind, location, password, certificates=certificates)


def _type(settings: TlsSettingsSource, key: str) -> str:
    kind = (settings.text(key) or "JKS").strip().upper()
    if kind not in TYPES:
        raise StoreError(f"{settings.name(key)}: {kind} is unknown: use one of {', '.join(TYPES)}")
    return kind


def _set(settings: TlsSettingsSource, key: str) -> str | None:
    """Return the value of a setting, None if it is empty."""
    return settings.text(key) or None


def _check(is_right: bool, sentence: str) -> None:
    if not is_right:
        raise StoreError(sentence)
