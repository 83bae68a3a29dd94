"""From opened stores to an SSLContext: the TLS of a listener, and its requirements on clients.

Invariants: no version before TLS 1.2, no compression, no renegotiation. Where clients show certificates there are no
session tickets: in TLS 1.3 each handshake has the certificate. In TLS 1.2 OpenSSL itself stores sessions by their ids,
for two hours at most and never beyond this context; Python has no option against it.
"""

from __future__ import annotations

import ssl

from barnabas.broker.security.tls.settings import TLS_1_2, TLS_1_3, ListenerTlsSettings
from barnabas.broker.security.tls.stores import Stores
from barnabas.protocol.security.stores.files import load_identity
from barnabas.protocol.security.stores.identity import Identity, StoreError
from barnabas.protocol.security.stores.reading import KEY_STORE, where_of

_VERSIONS = {TLS_1_2: ssl.TLSVersion.TLSv1_2, TLS_1_3: ssl.TLSVersion.TLSv1_3}
_VERIFY = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_TICKETS = 1
_WRONG = {
    "KEY_VALUES_MISMATCH": "the private key does not belong to the first certificate",
    "BAD_DECRYPT": "the password of the private key is wrong (ssl.key.password)",
    "EE_KEY_TOO_SMALL": "the private key is too short for OpenSSL",
    "CA_MD_TOO_WEAK": "a certificate is signed in a way that is too weak for OpenSSL",
}


def make_context(settings: ListenerTlsSettings, stores: Stores) -> ssl.SSLContext:
    """Make the context of the listener's handshakes. Raises StoreError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [_VERSIONS[each] for each in settings.protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    if settings.suites:
        _restrict(context, settings.suites)
    location = settings.key_store.location
    _identify(context, stores.identity, "ssl.keystore.key" if location is None else where_of(KEY_STORE, location))
    context.verify_mode = _VERIFY[settings.client_auth]
    if context.verify_mode is ssl.CERT_NONE:
        context.num_tickets = _TICKETS
        return context
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Java, each certificate in the store is trusted
    _trust(context, stores.trusted)
    return context


def _restrict(context: ssl.SSLContext, suites: tuple[str, ...]) -> None:
    try:
        context.set_ciphers(":".join(suites))
    except ssl.SSLError:
        raise StoreError(f"ssl.cipher.suites: OpenSSL has none of {', '.join(suites)}") from None
    there = {each["name"] for each in context.get_ciphers()}
    missing = [name for name in suites if name not in there]
    if missing:
        raise StoreError(f"ssl.cipher.suites: OpenSSL does not offer {', '.join(missing)}")


def _identify(context: ssl.SSLContext, identity: Identity, where: str) -> None:
    try:
        load_identity(context, identity)
    except (ssl.SSLError, ValueError) as error:
        raise StoreError(f"{where}: {_what_is_wrong(error, identity)}") from None


def _what_is_wrong(error: ValueError | ssl.SSLError, identity: Identity) -> str:
    reason = getattr(error, "reason", None) or ""
    if not reason and identity.key_password is not None:
        reason = "BAD_DECRYPT"  # since OpenSSL 3 the part that opens keys gives no reason
    return _WRONG.get(reason, "the private key or a certificate is broken")


def _trust(context: ssl.SSLContext, trusted: tuple[bytes, ...] | None) -> None:
    if trusted is None:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        return
    try:
        context.load_verify_locations(cadata=b"".join(trusted))
    except ssl.SSLError:
        raise StoreError("a trusted certificate is broken") from None
