"""TLS on the client's connections: contexts from settings, handshakes, and errors.

Stores are read here, by path. An invalid certificate is an AuthenticationFailed, which is final; a connection
lost during the handshake is a ConnectionFailed.
"""

from __future__ import annotations

import re
import socket
import ssl

from barnabas.client.errors import AuthenticationFailed, ConnectionFailed
from barnabas.client.security.settings import SettingsError, StoreSettings, TlsSettings
from barnabas.protocol.security.stores import pem
from barnabas.protocol.security.stores.ciphers import split_suites
from barnabas.protocol.security.stores.files import load_identity, read_file
from barnabas.protocol.security.stores.identity import Identity, StoreError, pem_of
from barnabas.protocol.security.stores.reading import KEY_STORE, TRUST_STORE, read_store, where_of

_BY_CERTIFICATE = "it requires a client certificate (ssl.keystore.*)"
_HINTS = dict.fromkeys(
    ("bad certificate", "certificate required", "certificate unknown", "certificate expired", "unknown ca"),
    f": {_BY_CERTIFICATE}",
) | {"handshake failure": f": perhaps {_BY_CERTIFICATE}, or has no suite of ssl.cipher.suites"}
_ALERT = re.compile(r"(?:TLSV\d+|SSLV3)_ALERT_")


def context_of(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context for clients. SettingsError if a store cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_hostname
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Java, every certificate in a trust store is trusted
    try:
        _choose_ciphers(context, settings)
        _trust(context, settings.trusted)
        if settings.own is not None:
            _identify(context, _identity_of(settings.own))
    except StoreError as error:
        raise SettingsError(str(error)) from None
    return context


def _choose_ciphers(context: ssl.SSLContext, settings: TlsSettings) -> None:
    newer, older = split_suites(list(settings.cipher_suites))
    speaks_1_2, speaks_1_3 = (name in settings.enabled_protocols for name in ("TLSv1.2", "TLSv1.3"))
    if settings.cipher_suites:
        speaks_1_2, speaks_1_3 = speaks_1_2 and bool(older), speaks_1_3 and bool(newer)
    if not speaks_1_2 and not speaks_1_3:
        raise SettingsError("no suite of ssl.cipher.suites is one of the protocols in ssl.enabled.protocols")
    context.minimum_version = ssl.TLSVersion.TLSv1_2 if speaks_1_2 else ssl.TLSVersion.TLSv1_3
    context.maximum_version = ssl.TLSVersion.TLSv1_3 if speaks_1_3 else ssl.TLSVersion.TLSv1_2
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise SettingsError("OpenSSL has none of the suites in ssl.cipher.suites") from None


def _trust(context: ssl.SSLContext, trusted: StoreSettings | None) -> None:
    if trusted is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    if trusted.certificates is not None:
        found = pem.certificates(trusted.certificates, "ssl.truststore.certificates")
    else:
        path = trusted.location or ""
        where = where_of(TRUST_STORE, path)
        password = trusted.password.value if trusted.password else None
        found = read_store(_read(path, where), trusted.kind, password, None, store=TRUST_STORE, path=path).trusted
        if not found:
            raise StoreError(f"{where}: it has no trusted certificate")
    try:
        context.load_verify_locations(cadata="".join(pem_of(pem.CERTIFICATE, each) for each in found))
    except ssl.SSLError:
        raise StoreError("the trust store has a certificate that OpenSSL cannot read") from None


def _identity_of(own: StoreSettings) -> Identity:
    key_password = own.key_password.value if own.key_password else None
    if own.key is not None:
        key_where, chain_where = "ssl.keystore.key", "ssl.keystore.certificate.chain"
        return pem.identity(own.key.value, key_where, own.certificates or "", chain_where, key_password)
    path = own.location or ""
    where = where_of(KEY_STORE, path)
    password = own.password.value if own.password else None
    found = read_store(_read(path, where), own.kind, password, key_password, store=KEY_STORE, path=path).identity
    if found is None:
        raise StoreError(f"{where}: it has no private key")
    return found


def _read(path: str, where: str) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise StoreError(f"{where}: {(error.strerror or str(error)).lower()}") from None


def _identify(context: ssl.SSLContext, identity: Identity) -> None:
    try:
        load_identity(context, identity)
    except (ssl.SSLError, ValueError):
        raise StoreError(
            "the key store's private key cannot be used: ssl.key.password is wrong, or its certificate belongs to "
            "another key"
        ) from None


def shake_hands(context: ssl.SSLContext, opened: socket.socket, host: str, where: str) -> ssl.SSLSocket:
    """Run the TLS handshake on an open socket with a timeout. AuthenticationFailed, ConnectionFailed; OSError."""
    try:
        wrapped = context.wrap_socket(opened, server_hostname=host, do_handshake_on_connect=False)
        try:
            wrapped.do_handshake()
        except BaseException:
            wrapped.close()
            raise
        return wrapped
    except ssl.SSLCertVerificationError as error:
        raise AuthenticationFailed(f"the certificate of {where} is not accepted: {_objection(error)}") from None
    except ssl.SSLEOFError:
        raise ConnectionFailed(
            f"{where} closed the connection during the TLS handshake: perhaps that port does not use TLS"
        ) from None
    except ssl.SSLError as error:
        raise failure_of(error, where) from None


def failure_of(error: ssl.SSLError, where: str) -> AuthenticationFailed:
    """Return the error for a TLS failure that OpenSSL, or the broker by an alert, reports."""
    reason = error.reason or str(error)
    if reason in ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"):
        return AuthenticationFailed(f"{where} does not use TLS: set security.protocol to PLAINTEXT or SASL_PLAINTEXT")
    alert = _ALERT.match(reason)
    if alert is None:
        return AuthenticationFailed(f"TLS with {where} failed: {_words(reason)}")
    reason_text = _words(reason[alert.end() :])
    return AuthenticationFailed(f"{where} ended TLS ({reason_text}){_HINTS.get(reason_text, '')}")


def failure_later(error: ssl.SSLError, where: str) -> Exception:
    """Return the error for a TLS failure after the handshake: a refusal (in TLS 1.3) or a lost connection."""
    if _ALERT.match(error.reason or ""):
        return failure_of(error, where)
    return ConnectionFailed(f"TLS with {where} failed: {_words(error.reason or str(error))}")


def _objection(error: ssl.SSLCertVerificationError) -> str:
    reason_text = error.verify_message.rstrip(".")
    sentence = reason_text[:1].lower() + reason_text[1:]
    if "self-signed" in sentence or "issuer" in sentence or "signature" in sentence:
        return f"{sentence} (ssl.truststore.* sets the trusted authorities)"
    return sentence


def _words(reason: str) -> str:
    return reason.replace("_", " ").lower()
