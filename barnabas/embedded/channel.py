"""Messages over a local socket between a process and the brokers it started: plain values, a size in front of each.

Both ends run the same interpreter and the same version of this package, so the values are encoded by `marshal`: it is
fast, always present, and loading runs no code.
"""

from __future__ import annotations

import marshal
import socket
from struct import Struct
from typing import Any

HEAD = Struct(">I")


def encode(message: Any) -> bytes:
    """Return a message with its size."""
    body = marshal.dumps(message)
    return HEAD.pack(len(body)) + body


def decode(body: bytes) -> object:
    """Decode a message without its size."""
    message: object = marshal.loads(body)
    return message


def receive(sock: socket.socket) -> object:
    """Receive the next message. Raises EOFError at the end of the stream; TimeoutError by the socket's timeout."""
    (size,) = HEAD.unpack(read_exactly(sock, HEAD.size))
    return decode(read_exactly(sock, size))


def read_exactly(sock: socket.socket, size: int) -> bytes:
    """Read so many bytes. Raises EOFError when the stream ends before."""
    data = bytearray()
    while len(data) < size:
        piece = sock.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
