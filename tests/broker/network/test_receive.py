"""Frames out of received bytes, whatever the pieces; and memory follows what came, not what was claimed."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.network.memory_limits import FrameMemory
from barnabas.broker.network.receive import SHARED_BYTES, FramingError, Receiver, shared_buffer
from barnabas.protocol.connection.framing import FrameBuffer, frame
from tests.support.three_ways import three_ways
from tests.support.virtual_clock import VirtualClock

LIMIT = 100 << 20


class Socket:
    """A receiver and what it asks of its owner, fed by hand."""

    def __init__(self, shared: memoryview | None = None, memory: FrameMemory | None = None, limit: int = LIMIT) -> None:
        self.memory = memory or FrameMemory(1 << 30, VirtualClock())
        self.told_free = 0
        self.cut_off: list[str] = []
        self.receiver = Receiver(
            shared or shared_buffer(), limit, self.memory, when_free=self._free, on_stall=self.cut_off.append
        )

    def _free(self) -> None:
        self.told_free += 1

    def receive(self, data: bytes, step: int = 1 << 30, *, the_short_way: bool = True) -> list[bytes]:
        """The frames that `data` completes; copies, since they are valid only until settled."""
        frames: list[bytes] = []
        while data:
            buffer = self.receiver.buffer()
            size = min(len(buffer), step, len(data))
            assert size > 0
            buffer[:size] = data[:size]
            data = data[size:]
            only = self.receiver.only_frame(size) if the_short_way else None
            if only is not None:
                frames.append(bytes(only))
                continue
            self.receiver.received(size)
            frames += self.take()
        return frames

    def take(self) -> list[bytes]:
        frames = []
        while (found := self.receiver.next_frame()) is not None:
            frames.append(bytes(found))
        self.receiver.settle()
        return frames


def parser() -> Callable[[bytes], Sequence[bytes]]:
    return Socket().receive


@pytest.mark.parametrize("size", [10, 1_000, SHARED_BYTES - 8, 3 * SHARED_BYTES])
def test_a_buffer_into_which_nothing_comes_leaves_the_frame_to_its_receiver(size: int) -> None:
    """uvloop asks for a buffer before each read, also if there is nothing; and a record of TLS may be incomplete."""
    shared = shared_buffer()
    one, other = Socket(shared), Socket(shared)
    whole = frame(b"a" * size)
    for end in (1, 5, len(whole) // 2, len(whole) - 1):
        assert one.receive(whole[:end]) == []
        one.receiver.buffer()
        assert other.receive(frame(b"b" * 50) + frame(b"c" * SHARED_BYTES)) == [b"b" * 50, b"c" * SHARED_BYTES]
        assert one.receive(whole[end:]) == [b"a" * size]


@pytest.fixture
def socket() -> Socket:
    return Socket()


@pytest.mark.parametrize(
    "payloads",
    [
        [b"a"],
        [b"", b"bc", b""],
        [b"x" * 300, b"y" * 5],
        [bytes(range(256)) * 300],  # larger than the shared buffer
        [b"z" * (SHARED_BYTES - 4), b"1", b"w" * SHARED_BYTES, b"2"],
    ],
)
def test_frames_come_out_whole_byte_by_byte_and_with_more_behind(payloads: list[bytes]) -> None:
    stream = b"".join(map(frame, payloads))
    for found in three_ways(parser, stream, tail=frame(b"more")[:-1]):
        assert found == payloads


@given(
    st.lists(st.integers(0, 200_000), max_size=6),
    st.lists(st.integers(1, 100_000), min_size=1, max_size=8),
    st.booleans(),
)
def test_pieces_give_the_frames_of_protocol_framing(sizes: list[int], steps: list[int], the_short_way: bool) -> None:
    stream = b"".join(frame(bytes([number]) * size) for number, size in enumerate(sizes))
    oracle, socket = FrameBuffer(LIMIT), Socket()
    found, expected = [], []
    position = 0
    while position < len(stream):
        piece = stream[position : position + steps[position % len(steps)]]
        position += len(piece)
        expected += [bytes(each) for each in oracle.feed(piece)]
        found += socket.receive(piece, the_short_way=the_short_way)
    assert found == expected
    assert socket.memory.used_bytes == 0


@pytest.mark.parametrize(
    ("before", "read", "only"),
    [
        (b"", frame(b"whole"), b"whole"),
        (b"", frame(b""), b""),
        (b"", frame(b"z" * (SHARED_BYTES - 4)), b"z" * (SHARED_BYTES - 4)),
        (b"", frame(b"two") + frame(b"of them"), None),
        (b"", frame(b"and more")[:-1], None),
        (b"", frame(b"whole") + b"\0", None),
        (b"\0", frame(b"behind a byte")[1:], None),
        (frame(b"x" * 9)[:6], frame(b"in another"), None),
        (b"", b"\0\0\0", None),
        (b"", frame(b"y" * (SHARED_BYTES - 3))[:SHARED_BYTES], None),
    ],
)
def test_a_read_of_one_whole_frame_is_told_from_others(
    socket: Socket, before: bytes, read: bytes, only: bytes | None
) -> None:
    socket.receive(before)
    buffer = socket.receiver.buffer()
    buffer[: len(read)] = read
    found = socket.receiver.only_frame(len(read))
    assert (None if found is None else bytes(found)) == only


def test_a_short_read_excludes_old_bytes_of_the_shared_buffer(socket: Socket) -> None:
    for size in (0xFFFFFFFF, 0, 1, 2):
        socket.receiver.buffer()[:4] = size.to_bytes(4, "big")
        for count in (1, 2, 3):
            assert socket.receiver.only_frame(count) is None


def test_a_whole_frame_over_the_limit_is_refused_in_either_way() -> None:
    assert Socket(limit=8).receive(frame(b"12345678")) == [b"12345678"]
    with pytest.raises(FramingError, match="9"):
        Socket(limit=8).receive(frame(b"123456789"))


def test_connections_share_one_buffer_and_never_see_each_others_bytes() -> None:
    shared = shared_buffer()
    first, second = Socket(shared), Socket(shared)
    assert first.receive(frame(b"of the first")[:9]) == []
    assert second.receive(frame(b"of the second")) == [b"of the second"]
    assert first.receive(frame(b"of the first")[9:]) == [b"of the first"]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"\xff\xff\xff\xff", "-1"),
        (b"\x7f\xff\xff\xff", "2147483647"),
    ],
)
def test_an_impossible_frame_is_refused_with_a_reason(start: bytes, reason: str) -> None:
    with pytest.raises(FramingError, match=reason):
        Socket().receive(start)


def test_a_frame_is_collected_in_memory_that_follows_what_came_and_not_what_was_claimed(socket: Socket) -> None:
    claimed = 100 << 20
    stream = claimed.to_bytes(4, "big") + bytes(40_000)
    socket.receive(stream[:10_000], step=1000)
    assert socket.memory.used_bytes == 0
    socket.receive(stream[10_000:])
    assert 0 < socket.memory.used_bytes <= 40_000 * 40


def test_a_large_frame_costs_no_more_than_its_size_once_it_is_nearly_there(socket: Socket) -> None:
    payload = bytes(3_000_000)
    socket.receive(frame(payload)[:-1], step=SHARED_BYTES)
    assert socket.memory.used_bytes == len(payload) + 4
    assert socket.receive(frame(payload)[-1:]) == [payload]
    assert socket.memory.used_bytes == 0


def test_without_memory_a_frame_waits_and_goes_on_when_there_is_some() -> None:
    memory = FrameMemory(100_000, VirtualClock())
    holder, waiting = Socket(memory=memory), Socket(memory=memory)
    big = frame(bytes(200_000))
    holder.receive(big[:150_000], step=SHARED_BYTES)
    waiting.receive(big[:SHARED_BYTES])
    assert waiting.receiver.is_starved
    assert holder.receive(big[150_000:]) == [bytes(200_000)]
    assert waiting.told_free == 1
    waiting.receiver.retry()
    assert not waiting.receiver.is_starved
    assert waiting.receive(big[SHARED_BYTES:]) == [bytes(200_000)]


def test_small_frames_never_wait_for_memory() -> None:
    memory = FrameMemory(1, VirtualClock())
    holder, small = Socket(memory=memory), Socket(memory=memory)
    holder.receive(frame(bytes(200_000))[:SHARED_BYTES])
    assert small.receive(frame(bytes(60_000)), step=1000) == [bytes(60_000)]


def test_a_closed_receiver_gives_its_memory_back(socket: Socket) -> None:
    socket.receive(frame(bytes(200_000))[:100_000])
    assert socket.memory.used_bytes > 0
    socket.receiver.close()
    assert socket.memory.used_bytes == 0
    assert not socket.receiver.has_unread()
