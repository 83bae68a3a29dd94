"""Frames come out whole whatever the pieces they came in, and a size that cannot be is a value, never an allocation."""

import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.connection.framing import FRAME_BYTES_MAX, FrameBuffer, frame, split_frames, why_refused
from tests.support.three_ways import three_ways


def parser() -> Callable[[bytes], list[bytes]]:
    frames = FrameBuffer()
    return lambda data: [bytes(found) for found in frames.feed(data)]


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_frames_come_out_as_they_went_in_three_ways(payloads: list[bytes]) -> None:
    stream = b"".join(map(frame, payloads))
    for found in three_ways(parser, stream, tail=frame(b"unfinished")[:-1]):
        assert found == payloads


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=4), st.integers(0, 60))
def test_any_bytes_in_any_pieces_give_the_same_frames_and_the_same_refusal(
    data: bytes, cuts: list[int], limit: int
) -> None:
    whole, pieces = FrameBuffer(limit), FrameBuffer(limit)
    expected = [bytes(found) for found in whole.feed(data)]
    borders = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    found = [bytes(each) for start, end in pairwise(borders) for each in pieces.feed(data[start:end])]
    assert (found, pieces.refused) == (expected, whole.refused)


def test_frames_given_out_stay_valid_while_more_comes() -> None:
    frames = FrameBuffer()
    (first,) = frames.feed(frame(b"first") + b"\x00\x00")
    (second,) = frames.feed(b"\x00\x06second")
    assert (bytes(first), bytes(second)) == (b"first", b"second")
    assert frames.is_empty


def test_split_frames_looks_only_at_its_part_of_the_buffer() -> None:
    buffer = b"???" + frame(b"ab") + frame(b"") + frame(b"cdef")[:-1] + b"???"
    found = split_frames(buffer, 3, len(buffer) - 3)
    assert [buffer[start:end] for start, end in found.frames] == [b"ab", b""]
    assert (found.consumed, found.needed, found.refused) == (13, 8, None)
    assert split_frames(buffer, 3, 5) == ([], 3, 4, None)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"\x16\x03\x01\x02", "TLS hello"),
        (b"GET ", "HTTP"),
        (b"POST", "HTTP"),
        (b"PRI ", "HTTP"),
        (b"HTTP", "HTTP"),
        (b"\xff\xff\xff\xff", "a frame of -1 bytes"),
        (b"\x80\x00\x00\x00", "a frame of -2147483648 bytes"),
        (b"\x06\x40\x00\x01", "a frame of 104857601 bytes, the limit is 104857600"),
    ],
)
def test_a_size_that_cannot_be_is_refused_with_a_reason(first: bytes, reason: str) -> None:
    frames = FrameBuffer()
    assert [bytes(found) for found in frames.feed(frame(b"good") + first)] == [b"good"]
    assert frames.refused is not None
    assert reason in frames.refused
    assert frames.feed(frame(b"never")) == []


def test_frames_before_a_refusal_are_still_given_out() -> None:
    split = split_frames(frame(b"a") + b"\xff" * 9, 0, 14)
    assert split == ([(4, 5)], 5, 4, "a frame of -1 bytes")


def test_the_limit_itself_is_allowed() -> None:
    frames = FrameBuffer(limit=5)
    assert len(frames.feed(frame(b"12345"))) == 1
    assert frames.refused is None
    assert frames.feed(frame(b"123456")) == []
    assert frames.refused == why_refused(6, 5)


def test_a_claimed_size_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        buffers = [FrameBuffer() for _ in range(100)]
        for buffer in buffers:
            assert buffer.feed(FRAME_BYTES_MAX.to_bytes(4, "big") + b"a little") == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
