"""From batch to batch, over damage of every kind."""

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.logfiles.log_file import LogFile
from barnabas.logfiles.walk import Bounds, Damage, LogStretch, walk_batches, walk_headers
from barnabas.protocol.records.batch import parse_header
from tests.support.files.held_bytes import HeldBytes
from tests.support.files.segment_files import LogWriter

UNBOUNDED = Bounds(0, None)


def batches(count: int, size: int = 3) -> list[bytes]:
    """Batches of `size` records each."""
    writer = LogWriter.__new__(LogWriter)
    writer.next_offset, writer.batches = 0, []
    for number in range(count):
        writer.data([b"value %d.%d" % (number, at) for at in range(size)])
    return writer.batches


def walk(path: Path, data: bytes, *, end: int | None = None, bounds: Bounds = UNBOUNDED) -> list[LogStretch]:
    path.write_bytes(data)
    with LogFile(str(path), len(data), window_bytes=200) as file:
        return list(walk_batches(file, 0, len(data) if end is None else end, bounds))


def told(found: list[LogStretch]) -> list[int | Damage]:
    """Base offsets of whole batches, and damage."""
    return [each.damage or (each.header.base_offset if each.header else -1) for each in found]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000000000.log"


def test_every_batch_of_a_whole_log_is_found(path: Path) -> None:
    found = walk(path, b"".join(batches(4)))
    assert told(found) == [0, 3, 6, 9]
    assert [bytes(each.batch or b"") for each in found] == batches(4)


def test_bytes_in_memory_are_walked_like_those_of_a_file(path: Path) -> None:
    data = b"".join(batches(3)) + b"junk" * 30
    assert list(walk_batches(HeldBytes(data), 0, len(data), UNBOUNDED)) == walk(path, data)


def test_a_message_set_of_an_old_format_is_reported_by_its_number(path: Path) -> None:
    first, second = batches(2)
    old = bytearray(second)
    old[16] = 1
    assert [each.old_format for each in walk(path, first + old)] == [None, 1]
    assert [each.old_format for each in walk(path, first + bytes(100) + second)] == [None, None, None]


FIRST, SECOND, THIRD, FOURTH = batches(4)


def grown(batch: bytes, by: int) -> bytes:
    """A batch that claims to be longer."""
    return batch[:8] + (len(batch) - 12 + by).to_bytes(4, "big") + batch[12:]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (FIRST + SECOND[:70] + b"\xff" + SECOND[71:] + THIRD + FOURTH, [0, Damage.CRC, 6, 9]),
        (FIRST + grown(SECOND, 20) + THIRD + FOURTH, [0, Damage.NO_BATCH, 6, 9]),
        *(
            (FIRST + garbage + SECOND + THIRD, [0, Damage.NO_BATCH, 3, 6])
            for garbage in (b"\0" * 100, b"\xff" * 100, b"garbage" * 20, b"\0")
        ),
        *((FIRST + SECOND[:cut], [0, Damage.TORN]) for cut in (1, 11, 60, 61, len(SECOND) - 1)),
        (FIRST + SECOND + b"\0" * 4000, [0, 3, Damage.ZEROS]),
    ],
    ids=[
        *("a flipped bit", "a length that grew", "zeros", "ones", "garbage", "a single zero"),
        *(f"torn at {cut}" for cut in (1, 11, 60, 61, len(SECOND) - 1)),
        "zeros at the end",
    ],
)
def test_damage_is_reported_by_its_kind_and_costs_no_batch_behind_it(
    path: Path, data: bytes, found: list[int | Damage]
) -> None:
    assert told(walk(path, data)) == found


def test_a_length_of_the_whole_file_does_not_hide_the_batches_behind_it(path: Path) -> None:
    found = walk(path, FIRST + grown(SECOND, len(THIRD + FOURTH)) + THIRD + FOURTH)
    assert told(found)[0] == 0
    assert told(found)[-2:] == [6, 9]


def test_a_batch_whose_offset_cannot_be_is_not_believed(path: Path) -> None:
    assert told(walk(path, FIRST + SECOND + FIRST + THIRD)) == [0, 3, Damage.OFFSET, 6]
    assert told(walk(path, FIRST + SECOND + THIRD, bounds=Bounds(0, 6))) == [0, 3, Damage.OFFSET]


def test_a_batch_that_claims_to_end_behind_the_next_part_is_passed_over(path: Path) -> None:
    end = len(FIRST + SECOND)
    found = walk(path, FIRST + grown(SECOND, len(THIRD)) + THIRD, end=end)
    assert told(found) == [0, Damage.NO_BATCH]
    assert found[-1].position + found[-1].size == end


def test_a_file_that_is_shorter_than_it_was_is_read_to_its_end(path: Path) -> None:
    data = b"".join(batches(3))
    path.write_bytes(data[:-5])
    with LogFile(str(path), len(data)) as file:
        assert told(list(walk_batches(file, 0, len(data), UNBOUNDED)))[:2] == [0, 3]


def test_the_walk_by_headers_finds_the_same_batches(path: Path) -> None:
    data = b"".join(batches(3)) + b"junk" * 30
    path.write_bytes(data)
    with LogFile(str(path), len(data)) as file:
        assert [header.base_offset for _, header in walk_headers(file, 0, len(data), UNBOUNDED)] == [0, 3, 6]


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30))
def test_damage_never_costs_a_batch_that_it_did_not_touch(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, length: int
) -> None:
    randomness = random.Random(seed)
    whole = batches(count, randomness.randint(1, 4))
    data = bytearray(b"".join(whole))
    at = randomness.randrange(len(data))
    data[at : at + length] = randomness.randbytes(length)[: len(data) - at]
    found = walk(tmp_path_factory.getbasetemp() / "damaged.log", bytes(data))

    assert sum(each.size for each in found) == len(data)
    assert all(each.position + each.size == after.position for each, after in itertools.pairwise(found))
    starts = [sum(map(len, whole[:number])) for number in range(count)]
    seen = {each.position for each in found if each.damage in (None, Damage.OFFSET)}
    for start, batch in zip(starts, whole, strict=True):
        if start + len(batch) <= at or start >= at + length:
            assert start in seen, parse_header(batch)
