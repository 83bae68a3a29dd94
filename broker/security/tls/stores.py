"""Opened stores: from the files in the settings, or from certificates in the settings themselves, with their content.

As in Java, a store of type JKS may be PKCS #12 and the other way round: the bytes decide.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.security.tls.settings import PEM, ListenerStoreSettings, ListenerTlsSettings
from barnabas.protocol.security.stores import files
from barnabas.protocol.security.stores.identity import Identity, Store, StoreError
from barnabas.protocol.security.stores.pem import certificates, identity
from barnabas.protocol.security.stores.reading import KEY_STORE, TRUST_STORE, read_java_store, where_of


class Stores(NamedTuple):
    """A listener's own identity, and the certificates that it trusts."""

    identity: Identity
    trusted: tuple[bytes, ...] | None
    """Certificates in DER; None for those that the machine trusts, as in Java."""


def open_stores(settings: ListenerTlsSettings) -> Stores:
    """Read the stores. Raises StoreError with a sentence that names the file."""
    key_store, trust_store = settings.key_store, settings.trust_store
    own = _identity(key_store)
    if trust_store is None:
        return Stores(own, None)
    if trust_store.certificates is not None:
        return Stores(own, certificates(trust_store.certificates, "ssl.truststore.certificates"))
    trusted = _read(trust_store, TRUST_STORE).trusted
    if not trusted:
        raise StoreError(f"{_where(trust_store, TRUST_STORE)}: it contains no trusted certificate")
    return Stores(own, trusted)


def files_of(settings: ListenerTlsSettings) -> Iterator[str]:
    """Yield the files that the stores are read from."""
    for store in (settings.key_store, settings.trust_store):
        if store is not None and store.location is not None:
            yield store.location


def state_of(path: str) -> object:
    """Return a value that changes when the file is written, removed or replaced."""
    try:
        return files.state_of(path)
    except OSError as error:
        return error.errno


def _identity(store: ListenerStoreSettings) -> Identity:
    if store.key is not None and store.certificates is not None:
        where = "ssl.keystore.key", store.certificates, "ssl.keystore.certificate.chain"
        return identity(store.key, *where, store.key_password)
    found = _read(store, KEY_STORE).identity
    if found is None:
        raise StoreError(f"{_where(store, KEY_STORE)}: it contains no private key")
    return found


def _read(store: ListenerStoreSettings, which: str) -> Store:
    """Read a store. `which`: KEY_STORE or TRUST_STORE."""
    assert store.location is not None
    where = _where(store, which)
    data = _bytes_of(store.location, where)
    if store.type == PEM:
        text = data.decode("utf-8", "replace")
        if which == KEY_STORE:
            return Store(identity(text, where, text, where, store.key_password))
        return Store(None, certificates(text, where))
    return read_java_store(data, store.password, store.key_password, store=which, path=store.location)


def _where(store: ListenerStoreSettings, which: str) -> str:
    return where_of(which, store.location or "")


def _bytes_of(path: str, where: str) -> bytes:
    try:
        return files.read_file(path)
    except OSError as error:
        raise StoreError(f"{where}: {os.strerror(error.errno or 0)}") from error
