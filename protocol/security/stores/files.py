"""The two files of a store: the one that it is read from, and the one that OpenSSL takes a private key from.

Python's ssl takes a private key from a file only. It gets one in memory (memfd) where there is such a thing, otherwise
one that only this process's user can read, which is gone at once.
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
    """The content of a store. OSError, also (EFBIG) for a file that is larger than a store can be."""
    with open(path, "rb") as file:
        data = file.read(STORE_BYTES_MAX + 1)
    if len(data) > STORE_BYTES_MAX:
        raise OSError(EFBIG, os.strerror(EFBIG), path)
    return data


def state_of(path: str) -> object:
    """What changes when the file is written, or another is put in its place. OSError."""
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino


def load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    """Have the context show the certificates, and prove by the key that they are its own. ssl.SSLError, ValueError."""
    pem = identity.key_pem + "".join(pem_of(CERTIFICATE, each) for each in identity.chain)
    with _in_file(pem) as path:
        # A password is never None: OpenSSL would ask whoever sits at the terminal.
        context.load_cert_chain(path, password=identity.key_password or "")


@contextmanager
def _in_file(text: str) -> Iterator[str]:
    """A path that `text` can be read from, for nobody but this process where the system can do that."""
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
