"""Reading Java's own key stores (JKS), as far as a broker needs it.

The format has not changed since 1998 and is small, so it is read here: the libraries for it are unmaintained or
need compilers and a second cryptography library. The store's password verifies all bytes, the key's password the key.
`keytool` has created PKCS #12 by default since Java 9, also in files named .jks: `is_jks` detects the format.

Pure. Invalid data raise StoreError.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha1
from hmac import compare_digest
from struct import Struct
from struct import error as StructError

from barnabas.protocol.security.stores.der import OCTET_STRING, SEQUENCE, elements, object_identifier, only
from barnabas.protocol.security.stores.identity import Identity, Store, StoreError, pem_of

_MAGIC, _JCEKS_MAGIC = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_WHITENER = b"Mighty Aphrodite"
_KEY_PROTECTOR = "1.3.6.1.4.1.42.2.17.1.1"
_DIGEST_BYTES = 20
_KEY_ENTRY, _CERTIFICATE_ENTRY = 1, 2
_INT, _SHORT, _LONG = Struct(">i"), Struct(">H"), Struct(">q")


def is_jks(data: bytes) -> bool:
    """Return whether this is a store of Java's own formats."""
    return data[:4] in (_MAGIC, _JCEKS_MAGIC)


def read_jks(data: bytes, password: str | None, key_password: str | None, where: str) -> Store:
    """Return the content of a store. Without a password nothing is verified and no key is read. StoreError."""
    if data[:4] == _JCEKS_MAGIC:
        raise StoreError(f"{where} is a JCEKS store: convert it to PKCS12, with keytool -importkeystore")
    if password is not None:
        digest = sha1(_password_bytes(password) + _WHITENER + data[:-_DIGEST_BYTES], usedforsecurity=False).digest()
        if not compare_digest(digest, data[-_DIGEST_BYTES:]):
            raise StoreError(f"{where}: the password of the store is wrong, or the file was changed")
    try:
        return _Reader(data[:-_DIGEST_BYTES]).store(key_password or password, where)
    except (StructError, UnicodeDecodeError, IndexError):
        raise StoreError(f"{where} is not a complete JKS store") from None


class _Reader:
    """A reader from the first byte to the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = len(_MAGIC)

    def store(self, key_password: str | None, where: str) -> Store:
        version, count = self._number(_INT), self._number(_INT)
        if version not in (1, 2):
            raise StoreError(f"{where} is a JKS store of version {version}: only 1 and 2 are supported")
        identity: Identity | None = None
        trusted: list[bytes] = []
        for _ in range(count):
            tag = self._number(_INT)
            self._bytes(_SHORT)  # the alias
            self._number(_LONG)  # its creation time
            if tag == _KEY_ENTRY:
                protected = self._bytes(_INT)
                chain = tuple(self._certificate(version) for _ in range(self._number(_INT)))
                trusted += chain[:1]
                if identity is None and key_password is not None and chain:
                    identity = Identity(
                        pem_of("PRIVATE KEY", _unprotected(protected, key_password, where)), None, chain
                    )
            elif tag == _CERTIFICATE_ENTRY:
                trusted.append(self._certificate(version))
            else:
                raise StoreError(f"{where} is not a complete JKS store")
        return Store(identity, tuple(trusted))

    def _certificate(self, version: int) -> bytes:
        if version == 2:
            self._bytes(_SHORT)  # its type, X.509
        return self._bytes(_INT)

    def _number(self, size: Struct) -> int:
        number = int(size.unpack_from(self._data, self._position)[0])
        self._position += size.size
        return number

    def _bytes(self, size: Struct) -> bytes:
        length = self._number(size)
        after = self._position + length
        if length < 0 or after > len(self._data):
            raise IndexError(after)
        data = self._data[self._position : after]
        self._position = after
        return data


def _unprotected(protected: bytes, password: str, where: str) -> bytes:
    """Return the key in PKCS #8, decrypted from Java's KeyProtector: XOR with a stream of digests, and a checksum."""
    wrong = StoreError(f"{where}: the password of the key is wrong (ssl.key.password, else that of the store)")
    try:
        algorithm, content = elements(only(protected, SEQUENCE))
        number = object_identifier(next(elements(algorithm.content)).content)
    except (ValueError, StopIteration):
        raise StoreError(f"{where} has an invalid key") from None
    if number != _KEY_PROTECTOR or content.tag != OCTET_STRING or len(content.content) < 2 * _DIGEST_BYTES:
        raise StoreError(f"{where} has a key with an unknown protection")
    salt, encrypted = content.content[:_DIGEST_BYTES], content.content[_DIGEST_BYTES:-_DIGEST_BYTES]
    secret = _password_bytes(password)
    key = _xor(encrypted, salt, lambda block: sha1(secret + block, usedforsecurity=False).digest())
    check = sha1(secret + key, usedforsecurity=False).digest()
    if not compare_digest(check, content.content[-_DIGEST_BYTES:]):
        raise wrong
    return key


def _xor(data: bytes, block: bytes, following: Callable[[bytes], bytes]) -> bytes:
    stream = bytearray()
    while len(stream) < len(data):
        block = following(block)
        stream += block
    return bytes(one ^ other for one, other in zip(data, stream, strict=False))


def _password_bytes(password: str) -> bytes:
    return password.encode("utf-16-be")
