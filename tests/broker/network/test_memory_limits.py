"""The limit on frames that are still arriving: who gets memory, who waits, and who is cut off."""

import pytest

from barnabas.broker.network.memory_limits import (
    SEND_PIECE_BYTES,
    SEND_PIECE_BYTES_WHEN_FULL,
    STALLED_MS,
    FrameMemory,
    SendMemory,
)
from tests.support.virtual_clock import VirtualClock


class Peer:
    """A holder of frame buffers."""

    def __init__(self, memory: FrameMemory) -> None:
        self.memory = memory
        self.received_bytes = 0
        self.buffers: list[bytearray] = []
        self.told = 0
        self.cut_off_reason: str | None = None

    def take(self, size: int) -> bool:
        buffer = self.memory.take(self, size, self.when_free)
        if buffer is not None:
            self.buffers.append(buffer)
        return buffer is not None

    def give_back(self) -> None:
        while self.buffers:
            self.memory.give_back(self, self.buffers.pop())

    def when_free(self) -> None:
        self.told += 1

    def cut_off(self, reason: str) -> None:
        self.cut_off_reason = reason
        self.give_back()


def test_memory_is_given_until_the_limit_is_reached_and_one_frame_may_overshoot_it() -> None:
    memory = FrameMemory(1000, VirtualClock())
    first, second, third = Peer(memory), Peer(memory), Peer(memory)
    assert first.take(900)
    assert second.take(5000)
    assert not third.take(10)
    first.give_back()
    assert third.told == 1
    assert not third.take(10)
    second.give_back()
    assert third.take(10)


def test_one_peer_alone_may_have_any_size() -> None:
    memory = FrameMemory(1000, VirtualClock())
    peer = Peer(memory)
    assert all(peer.take(size) for size in (500, 2000, 100_000))


def test_when_all_who_hold_memory_wait_the_one_who_asks_gets_it() -> None:
    memory = FrameMemory(1000, VirtualClock())
    first, second = Peer(memory), Peer(memory)
    assert first.take(999)
    assert second.take(1000)
    assert first.take(10) is False
    assert second.take(10)


@pytest.mark.parametrize(("size", "due_bytes"), [(600, 100), (60 << 20, 1 << 20)])
def test_a_peer_that_stalls_is_cut_off_when_others_wait_and_not_before(size: int, due_bytes: int) -> None:
    clock = VirtualClock()
    memory = FrameMemory(2 * size + 1, clock)
    silent, drips, busy, waiting = (Peer(memory) for _ in range(4))
    assert all(peer.take(size) for peer in (silent, drips, busy))
    clock.advance(10 * STALLED_MS)
    assert (silent.cut_off_reason, drips.cut_off_reason) == (None, None)
    assert not waiting.take(10)
    drips.received_bytes += due_bytes - 1
    busy.received_bytes += due_bytes
    clock.advance(STALLED_MS)
    assert silent.cut_off_reason == drips.cut_off_reason == "stalled inside a large frame while others wait for memory"
    assert busy.cut_off_reason is None
    assert waiting.told == 1
    assert waiting.take(10)


def test_idle_time_is_attributed_to_no_task() -> None:
    clock = VirtualClock()
    memory = FrameMemory(1000, clock)
    done, waited, other, new = (Peer(memory) for _ in range(4))
    assert waited.take(600)
    assert done.take(1200)
    assert (waited.take(1200), other.take(600)) == (False, False)
    clock.advance(STALLED_MS - 1)
    done.give_back()
    assert (waited.told, other.told) == (1, 1)
    assert (new.take(600), other.take(600)) == (True, False)
    clock.advance(1)
    assert (waited.cut_off_reason, new.cut_off_reason) == (None, None)
    clock.advance(STALLED_MS)
    assert None not in (waited.cut_off_reason, new.cut_off_reason)


def test_buffers_are_used_again() -> None:
    memory = FrameMemory(1 << 30, VirtualClock())
    peer = Peer(memory)
    assert peer.take(100_000)
    buffer = peer.buffers[0]
    peer.give_back()
    assert memory.used_bytes == 0
    assert peer.take(90_000)
    assert peer.buffers[0] is buffer


def test_pieces_get_small_when_much_is_unread() -> None:
    memory = SendMemory()
    assert len(memory.take_buffer()) == SEND_PIECE_BYTES
    memory.unread_bytes = 1 << 30
    assert len(memory.take_buffer()) == SEND_PIECE_BYTES_WHEN_FULL


def test_the_buffers_of_a_few_large_pieces_are_used_again() -> None:
    memory = SendMemory()
    taken = [memory.take_buffer() for _ in range(9)]
    for each in [bytearray(SEND_PIECE_BYTES_WHEN_FULL), *taken]:
        memory.give_back(each)
    again = [memory.take_buffer() for _ in range(9)]
    assert sum(any(each is buffer for buffer in taken) for each in again) == 4
    assert {len(each) for each in again} == {SEND_PIECE_BYTES}
