"""Broken bytes, for every message in every version: a `DecodeError` or a message, and no memory for empty claims."""

import tracemalloc
from random import Random

import pytest

from barnabas.protocol.codec.compile import Codec, codec
from barnabas.protocol.codec.schema import Struct
from barnabas.protocol.errors import DecodeError
from tests.support.records.messages import make, our_messages, our_stored

EVERY_STRUCT = [*our_messages(), *our_stored()]
every_struct = pytest.mark.parametrize("struct", EVERY_STRUCT, ids=lambda struct: struct.__name__)

# What a liar writes where a length or a count is expected: the largest and the smallest of each width.
CLAIMS = (
    b"\xff\xff\xff\xff\x07",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\x7f\xff",
    b"\x80\x00",
    b"\xff" * 6,
    b"\x00",
)
MEMORY_LIMIT = 1 << 20


def decodes(message_codec: Codec[Struct], data: bytes) -> bool:
    """Whether `data` is a message. Anything but a message or a DecodeError fails the test."""
    try:
        _, position = message_codec.decode(data)
    except DecodeError:
        return False
    assert position <= len(data)
    return True


@every_struct
def test_every_true_prefix_of_a_message_is_refused(struct: type[Struct]) -> None:
    rng = Random(struct.__name__)
    for version in struct.__schema__.valid_versions:
        message_codec = codec(struct, version)
        encoded = message_codec.encode(make(struct, version, rng))
        for size in range(len(encoded)):
            assert not decodes(message_codec, encoded[:size]), (version, encoded.hex(), size)


@every_struct
def test_overwritten_bytes_give_a_message_or_a_decode_error(struct: type[Struct]) -> None:
    rng = Random(struct.__name__)
    for version in struct.__schema__.valid_versions:
        message_codec = codec(struct, version)
        encoded = message_codec.encode(make(struct, version, rng))
        for _ in range(150):
            broken = bytearray(encoded)
            for _ in range(rng.choice((1, 1, 2, 8))):
                position = rng.randrange(len(broken) + 1)
                claim = rng.choice((*CLAIMS, rng.randbytes(3)))
                broken[position : position + rng.choice((0, len(claim)))] = claim
            decodes(message_codec, bytes(broken))


@every_struct
def test_garbage_gives_a_message_or_a_decode_error(struct: type[Struct]) -> None:
    rng = Random(struct.__name__)
    for version in struct.__schema__.valid_versions:
        for size in (0, 1, 2, 7, 40, 300):
            decodes(codec(struct, version), rng.randbytes(size))
        decodes(codec(struct, version), bytes(300))
        decodes(codec(struct, version), b"\xff" * 300)


def test_a_claim_at_any_position_costs_no_memory() -> None:
    rng = Random(3)
    cases = []
    for struct in EVERY_STRUCT:
        version = struct.__schema__.valid_versions[-1]
        encoded = codec(struct, version).encode(make(struct, version, rng))[:2000]
        decodes(codec(struct, version), encoded)  # compile it before memory is counted
        cases += [
            (struct, version, encoded[:position] + claim + encoded[position + len(claim) :])
            for position in range(0, len(encoded), 7)
            for claim in CLAIMS
        ]
    tracemalloc.start()
    try:
        for struct, version, broken in cases:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            decodes(codec(struct, version), broken)
            assert tracemalloc.get_traced_memory()[1] - before < MEMORY_LIMIT, (struct, broken.hex())
    finally:
        tracemalloc.stop()
