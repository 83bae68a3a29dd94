"""The files of a store: the one that it is read from, and the one from which OpenSSL loads a private key.

Python's ssl loads a private key only from a file. It gets one in memory (memfd) if the system has that, otherwise one
that only this process's user can read, which is removed at once.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EFBIG
from typing import Final

from barnabas.protocol.security.stores.identity import Identity, pem_of
from barnabas.protocol.security.stores.pem import CERTIFICATE

STORE_BYTES_MAX: Final = 16 << 20
_DESCRIPTORS: Final = "/proc/self/fd"


def read_file(path: str) -> bytes:
    """Return the content of a store. OSError, also (EFBIG) for a file that is larger than a store can be."""
    with open(path, "rb") as file:
        data = file.read(STORE_BYTES_MAX + 1)
    if len(data) > STORE_BYTES_MAX:
        raise OSError(EFBIG, os.strerror(EFBIG), path)
    return data


def state_of(path: str) -> object:
    """Return a value that changes when the file is written or replaced by another. OSError."""
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino


def load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    """Load certificates and key into the context, to identify itself by them. ssl.SSLError, ValueError."""
    pem = identity.key_pem + "".join(pem_of(CERTIFICATE, each) for each in identity.chain)
    with _in_file(pem) as path:
        # A password is never None: OpenSSL would prompt for it at the terminal.
        context.load_cert_chain(path, password=identity.key_password or "")


@contextmanager
def _in_file(text: str) -> Iterator[str]:
    """Yield a path from which `text` can be read, only by this process if the system supports that."""
    if not hasattr(os, "memfd_create") or not os.path.isdir(_DESCRIPTORS):
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile("w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("store", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, text.encode("ascii"))
        yield f"{_DESCRIPTORS}/{descriptor}"
    finally:
        os.close(descriptor)
