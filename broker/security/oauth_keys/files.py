"""Files for the verification of tokens: a set of keys, and the trust store for the server that publishes one.

Bounded in size. An error message is a sentence without any of the content.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final

from barnabas.protocol.security.stores import pem
from barnabas.protocol.security.stores.files import read_file
from barnabas.protocol.security.stores.identity import StoreError, pem_of
from barnabas.protocol.security.stores.reading import TRUST_STORE, read_store, where_of

_SET_BYTES_MAX: Final = 512 << 10


def read(path: str, bytes_max: int = _SET_BYTES_MAX) -> bytes:
    """Return the content of a file. Raises OSError; ValueError for a file that is too large."""
    with open(path, "rb") as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise ValueError(f"it has more than {bytes_max} bytes")
    return content


def context_for(trust: Mapping[str, str]) -> ssl.SSLContext:
    """Return a TLS context for a server. trust: certificates, or location, type and password, as `ssl.truststore.…`;
    empty for those that the machine trusts. Raises StoreError.
    """
    if not trust:
        return ssl.create_default_context()
    if "certificates" in trust:
        found = pem.certificates(trust["certificates"], "ssl.truststore.certificates")
    else:
        path = trust.get("location", "")
        where = where_of(TRUST_STORE, path)
        try:
            data = read_file(path)
        except OSError as error:
            raise StoreError(f"{where}: {error.strerror or error}") from error
        kind, password = trust.get("type", "JKS"), trust.get("password")
        found = read_store(data, kind, password, None, store=TRUST_STORE, path=path).trusted
        if not found:
            raise StoreError(f"{where}: it contains no trusted certificate")
    context = ssl.create_default_context(cadata="".join(pem_of(pem.CERTIFICATE, each) for each in found))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Java, every certificate in a trust store is trusted
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Python 3.13's default: many companies' authorities fail it
    return context
