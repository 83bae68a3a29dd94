"""PKCS #12 stores, read with the library `cryptography`: the only module here that needs it.

Reads the files of keytool and openssl. As in Java, the trusted certificates of a store are its certificate entries and
the first certificate of a key, not the intermediate certificates up to its authority.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.protocol.security.stores.identity import Identity, Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.x509 import Certificate

_EXTRA = "pip install 'barnabas[secure]'"


def read_pkcs12(data: bytes, password: str | None, key_password: str | None, where: str) -> Store:
    """Return the content of a store. StoreError."""
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise StoreError(f"{where} is a PKCS12 store, which needs the package cryptography: {_EXTRA}") from None
    try:
        found = load_pkcs12(data, None if password is None else password.encode())
    except ValueError:
        raise StoreError(f"{where}: the password of the store is wrong, or it is not a PKCS12 store") from None
    if key_password is not None and key_password != password:
        raise StoreError(f"{where}: ssl.key.password must be the store's password in a PKCS12 store")
    others = [each.certificate for each in found.additional_certs]
    if found.cert is None or found.key is None:
        own = [] if found.cert is None else [found.cert.certificate]
        return Store(None, _encoded([*own, *others]))
    chain = _chain(found.cert.certificate, others)
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    trusted = [each for each in others if each not in chain]
    return Store(Identity(key, None, _encoded(chain)), _encoded([chain[0], *trusted]))


def _chain(own: Certificate, others: Sequence[Certificate]) -> list[Certificate]:
    """Return a key's certificate, and the certificates up to its authority."""
    chain = [own]
    while True:
        issuer = next((each for each in others if each.subject == chain[-1].issuer and each not in chain), None)
        if issuer is None:
            return chain
        chain.append(issuer)


def _encoded(certificates: Sequence[Certificate]) -> tuple[bytes, ...]:
    from cryptography.hazmat.primitives.serialization import Encoding

    return tuple(each.public_bytes(Encoding.DER) for each in certificates)
