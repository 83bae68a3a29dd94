"""Reading a store of any type, from its bytes."""

from __future__ import annotations

from barnabas.protocol.security.stores import pem
from barnabas.protocol.security.stores.identity import Store, StoreError

KEY_STORE, TRUST_STORE = "ssl.keystore", "ssl.truststore"
"""The prefixes of the settings of a store."""
_PEM_BEGINS = b"-----BEGIN "


def where_of(store: str, path: str) -> str:
    """Return the name of a file of KEY_STORE or TRUST_STORE in messages."""
    return f"{store}.location: {path}"


def read_store(
    data: bytes, kind: str, password: str | None, key_password: str | None, *, store: str, path: str
) -> Store:
    """Return the content of a store. `kind`: PEM, JKS or PKCS12; `store`: KEY_STORE or TRUST_STORE. StoreError."""
    where = where_of(store, path)
    if kind == "PEM":
        text = data.decode(errors="replace")
        has_key = "PRIVATE KEY-----" in text
        identity = pem.identity(text, where, text, where, key_password) if has_key else None
        return Store(identity, pem.certificates(text, where))
    return read_java_store(data, password, key_password, store=store, path=path)


def read_java_store(data: bytes, password: str | None, key_password: str | None, *, store: str, path: str) -> Store:
    """Read a JKS or PKCS12 store: Java accepts either type for the other, so the bytes decide. StoreError."""
    from barnabas.protocol.security.stores.jks import is_jks, read_jks  # digests, and
    from barnabas.protocol.security.stores.pkcs12 import read_pkcs12  # more: nothing for a start with PEM

    where = where_of(store, path)
    if _PEM_BEGINS in data and not is_jks(data):
        raise StoreError(f"{where}: it is a PEM file: set {store}.type=PEM")
    read = read_jks if is_jks(data) else read_pkcs12
    return read(data, password, key_password, where)
