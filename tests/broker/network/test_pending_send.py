"""A response in pieces: the same bytes whatever the pieces, and files read no earlier than needed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.network.pending_send import PendingSend


class Slice:
    """A slice of a file that counts what is read of it."""

    def __init__(self, data: bytes, claimed: int | None = None) -> None:
        self.data = data
        self.size = len(data) if claimed is None else claimed
        self.read_bytes = 0

    def __len__(self) -> int:
        return self.size

    def read_into(self, buffer: memoryview, position: int) -> int:
        data = self.data[position : position + len(buffer)]
        buffer[: len(data)] = data
        self.read_bytes += len(data)
        return len(data)


parts = st.lists(
    st.binary(min_size=1, max_size=50).flatmap(lambda data: st.sampled_from((bytearray(data), Slice(data))))
)


@given(parts, st.integers(1, 120))
def test_the_pieces_are_the_parts_in_order(given_parts: list[Any], size: int) -> None:
    outgoing = PendingSend(given_parts)
    sent, sizes = b"", []
    while not outgoing.is_empty:
        buffer = bytearray(size)
        sizes.append(outgoing.fill(memoryview(buffer)))
        sent += buffer[: sizes[-1]]
    assert sent == b"".join(part.data if isinstance(part, Slice) else bytes(part) for part in given_parts)
    assert set(sizes[:-1]) <= {size}


def test_a_file_is_read_only_as_far_as_the_piece_goes() -> None:
    file = Slice(bytes(1000))
    outgoing = PendingSend([bytearray(10), file])
    assert outgoing.fill(memoryview(bytearray(110))) == 110
    assert file.read_bytes == 100


def test_a_file_that_has_become_shorter_ends_the_response() -> None:
    outgoing = PendingSend([Slice(b"abc", claimed=5)])
    with pytest.raises(EOFError):
        outgoing.fill(memoryview(bytearray(100)))
