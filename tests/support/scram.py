"""The client's side of SCRAM, written again from the formulas of RFC 5802."""

import hashlib
import hmac
from base64 import b64decode, b64encode


def client_final(hash_name: str, password: str, first_bare: bytes, answer: bytes) -> bytes:
    """The client's second message. first_bare: its first one, without `n,,`; answer: the server's first."""
    nonce, salt, iterations = (part.split("=", 1)[1] for part in answer.decode().split(","))
    key = hashlib.pbkdf2_hmac(hash_name, password.encode(), b64decode(salt), int(iterations))
    unproven = f"c=biws,r={nonce}"
    signed = b",".join([first_bare, answer, unproven.encode()])
    client_key = hmac.digest(key, b"Client Key", hash_name)
    stored = hashlib.new(hash_name, client_key).digest()
    signature = hmac.digest(stored, signed, hash_name)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    return f"{unproven},p={b64encode(proof).decode()}".encode()
