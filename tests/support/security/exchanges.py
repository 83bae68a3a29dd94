"""What a client sends in SASL exchanges, right and wrong, written again from RFC 4616, 5802 and 7628.

{plain("alice")}                                      PLAIN with the right password
{first("alice")}                                      the first message of SCRAM
{final("SCRAM-SHA-256", "alice", <challenge1>)}       the second, to the server's challenge
{token("alice")}                                      OAUTHBEARER with an unsecured token that is good for an hour
base64(<hmac1>)                                       what SCRAM takes as the password of a delegation token
"""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.support.security.secured import password_of

NONCE = "probe"
HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_CLIENT_KEY, _SERVER_KEY = b"Client Key", b"Server Key"


def plain(user: str, password: str | None = None, *, authorization_id: str = "") -> bytes:
    return b"\0".join(
        part.encode() for part in (authorization_id, user, password_of(user) if password is None else password)
    )


def first(user: str, *, header: str = "n,,", nonce: str = NONCE, extensions: str = "") -> bytes:
    return f"{header}n={user},r={nonce}{extensions}".encode()


def final(
    expected: set[bytes],
    mechanism: str,
    user: str,
    challenge: bytes,
    *,
    password: str | None = None,
    name: str | None = None,
    binding: str = "n,,",
    nonce_end: str = "",
    cut: int = 0,
    extensions: str = "",
) -> bytes:
    """What the server must answer is added to `expected`. `name`: as it stood in the first message; `cut`: bytes."""
    nonce, salt, iterations = (part.split("=", 1)[1] for part in challenge.decode().split(",")[:3])
    kind = HASHES[mechanism]
    secret = password_of(user) if password is None else password
    salted = hashlib.pbkdf2_hmac(kind, secret.encode(), b64decode(salt), int(iterations))
    unproven = f"c={b64encode(binding.encode()).decode()},r={nonce}{nonce_end}"
    signed = b",".join([first(name or user, header="", extensions=extensions), challenge, unproven.encode()])
    client_key = hmac.digest(salted, _CLIENT_KEY, kind)
    signature = hmac.digest(hashlib.new(kind, client_key).digest(), signed, kind)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    expected.add(b"v=" + b64encode(hmac.digest(hmac.digest(salted, _SERVER_KEY, kind), signed, kind)))
    message = f"{unproven},p={b64encode(proof).decode()}".encode()
    return message[: len(message) - cut]


def token(subject: str, *, lifetime_s: int = 3600, algorithm: str = "none", **options: Any) -> bytes:
    """The message of OAUTHBEARER; in `options` are claims, and the parts of the message."""
    header = options.pop("header", "n,,")
    scheme = options.pop("scheme", "Bearer")
    extensions = options.pop("extensions", "")
    made = unsecured_token(subject, lifetime_s=lifetime_s, algorithm=algorithm, **options)
    return f"{header}\x01auth={scheme} {made}{extensions}\x01\x01".encode()


def unsecured_token(
    subject: str, *, lifetime_s: int = 3600, algorithm: str = "none", signature: str = "", **claims: Any
) -> str:
    """An unsigned token. A claim that is None is left out."""
    now = int(time.time())
    claimed = {"sub": subject, "iat": now, "exp": now + lifetime_s} | claims
    stated = {name: value for name, value in claimed.items() if value is not None}
    return ".".join([_part({"alg": algorithm}), _part(stated), signature])


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def words(expected: set[bytes]) -> dict[str, Callable[..., bytes | str]]:
    """The functions above as a page names them."""
    return {"plain": plain, "first": first, "final": partial(final, expected), "token": token, "base64": base64}


def salted_password(mechanism: str, user: str, salt: bytes, iterations: int) -> bytes:
    """What a credential is stored as."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password_of(user).encode(), salt, iterations)


def _part(content: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()
