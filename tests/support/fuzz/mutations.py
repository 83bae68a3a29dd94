"""Ways to break the bytes of a request. Each is a function from (frame without its size, dice) to what is sent.

`MUTATIONS` is the list; `mutate` picks one. Sizes are put right again where the break is meant for the body's
decoder, and left wrong where it is meant for the framing.
"""

from collections.abc import Callable
from random import Random
from struct import Struct
from typing import NamedTuple

from barnabas.protocol.registry import ApiKey

_SIZE = Struct(">i")
_HEADER_BYTES = 10  # key, version, correlation id, the client id's length
CLAIMS = (
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xfe",
    b"\x7f\xff",
    b"\x80\x00",
    b"\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\x00\x00\x00\x00",
    b"\x00",
    b"\x01",
)
OVERLONG = (b"\x80\x00", b"\x80\x80\x80\x80\x00", b"\x80" * 9 + b"\x00", b"\xff" * 10, b"\x80" * 5 + b"\x01")
TAG_SECTIONS = (
    b"\x01\x7f\x00",  # one unknown, empty
    b"\x01\x7f\x05hello",
    b"\x02\x00\x00\x00\x00",  # tag 0 twice
    b"\x02\x05\x01a\x05\x01b",  # an unknown one twice
    b"\x02\x05\x00\x04\x00",  # out of order
    b"\x01\x7f\xff\xff\xff\xff\x07",  # longer than all there is
    b"\xff\xff\xff\xff\x0f",  # as many as there are numbers
    b"\x01\xff\xff\xff\xff\x0f\x00",  # the largest number
)
BAD_TEXT = (b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\x80", b"\xf5\x80\x80\x80")

Mutation = Callable[[bytearray, Random], bytes]


class Sent(NamedTuple):
    """Bytes on the wire: what was done to them, and the largest piece they arrive in."""

    how: str
    data: bytes
    step: int


def mutate(payload: bytes, rng: Random) -> Sent:
    """One frame, broken in one way or not at all, cut into pieces as the network pleases."""
    step = rng.choice((1 << 30, 1 << 30, 1 << 30, 1, 3, 7, 100)) if len(payload) < 4000 else 1 << 30
    mutation = rng.choice(MUTATIONS)
    return Sent(mutation.__name__, mutation(bytearray(payload), rng), step)


def framed(payload: bytes | bytearray) -> bytes:
    return _SIZE.pack(len(payload)) + payload


def as_it_is(payload: bytearray, _: Random) -> bytes:
    return framed(payload)


def truncated(payload: bytearray, rng: Random) -> bytes:
    return framed(payload[: rng.randrange(len(payload))])


def cut_off(payload: bytearray, rng: Random) -> bytes:
    """The peer goes away in the middle."""
    return framed(payload)[: rng.randrange(len(payload) + 4)]


def extended(payload: bytearray, rng: Random) -> bytes:
    return framed(payload + rng.choice((b"\x00", b"\xff", rng.randbytes(20), bytes(300))))


def trailed(payload: bytearray, rng: Random) -> bytes:
    """Rubbish behind the frame."""
    return framed(payload) + rng.choice((b"\x00", b"\xff" * 4, rng.randbytes(20), b"GET / HTTP/1.1\r\n"))


def missized(payload: bytearray, rng: Random) -> bytes:
    size = rng.choice((-1, -(1 << 31), (1 << 31) - 1, 100 << 20, 0, len(payload) - 1, len(payload) + 1, 1))
    return _SIZE.pack(size) + payload


def flipped(payload: bytearray, rng: Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        payload[rng.randrange(_body(payload), len(payload))] ^= 1 << rng.randrange(8)
    return framed(payload)


def overclaimed(payload: bytearray, rng: Random) -> bytes:
    """A length or count that is huge, negative or zero."""
    claim = rng.choice(CLAIMS)
    position = rng.randrange(_body(payload), len(payload) + 1)
    payload[position : position + rng.choice((0, 1, len(claim)))] = claim
    return framed(payload)


def overlong(payload: bytearray, rng: Random) -> bytes:
    """A varint of more bytes than it needs, or may have."""
    position = rng.randrange(_body(payload), len(payload) + 1)
    payload[position : position + 1] = rng.choice(OVERLONG)
    return framed(payload)


def tagged(payload: bytearray, rng: Random) -> bytes:
    """Tagged fields where none were."""
    zeros = [position for position in range(_HEADER_BYTES, len(payload)) if payload[position] == 0]
    position = rng.choice((len(payload) - 1, *zeros[-8:]))
    payload[position : position + 1] = rng.choice(TAG_SECTIONS)
    return framed(payload)


def nulled(payload: bytearray, rng: Random) -> bytes:
    """A null where a length or a count was."""
    null = rng.choice((b"\xff\xff", b"\xff\xff\xff\xff", b"\x00"))
    position = rng.randrange(_body(payload), len(payload) + 1)
    payload[position : position + len(null)] = null
    return framed(payload)


def misspelt(payload: bytearray, rng: Random) -> bytes:
    """Text that is not UTF-8."""
    letters = [position for position in range(8, len(payload)) if chr(payload[position]).isalpha()]
    position = rng.choice(letters or [len(payload) - 1])
    bad = rng.choice(BAD_TEXT)
    payload[position : position + len(bad)] = bad
    return framed(payload)


def misversioned(payload: bytearray, rng: Random) -> bytes:
    """Another version of the same API, or one that does not exist."""
    version = int.from_bytes(payload[2:4], "big")
    other = rng.choice((version + 1, max(version - 1, 0), 0, 99, 0x7FFF, 0xFFFF))
    payload[2:4] = other.to_bytes(2, "big")
    return framed(payload)


def misaddressed(payload: bytearray, rng: Random) -> bytes:
    """Another API, or one that does not exist."""
    payload[0:2] = rng.choice((*map(int, ApiKey), 999, 0x7FFF, 0xFFFF)).to_bytes(2, "big")
    return framed(payload)


def misnamed(payload: bytearray, rng: Random) -> bytes:
    """A client id whose length is wrong."""
    payload[8:10] = rng.choice((b"\xff\xff", b"\xff\xfe", b"\x80\x00", b"\x7f\xff", b"\x00\x00", b"\x00\x01"))
    return framed(payload)


def _body(payload: bytearray) -> int:
    return min(_HEADER_BYTES, len(payload) - 1)


# Whole requests with odd values reach furthest: half of all that is sent.
MUTATIONS: tuple[Mutation, ...] = (
    *(as_it_is,) * 14,
    truncated,
    cut_off,
    extended,
    trailed,
    missized,
    flipped,
    overclaimed,
    overlong,
    tagged,
    nulled,
    misspelt,
    misversioned,
    misaddressed,
    misnamed,
)
