"""How a ShareFetch reads the batches of a log: in pieces, and each batch whole."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.batch import MAGIC_POSITION, iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.worlds.share_world import ShareWorld, acquired


@pytest.mark.parametrize("sizes", [(70_000, 1, 150_000, 1), (65_475, 65_475, 20), (200_000,)])
async def test_batches_larger_than_a_piece_of_the_log_are_whole(sizes: tuple[int, ...]) -> None:
    world = ShareWorld()
    values = [bytes([number]) * size for number, size in enumerate(sizes)]
    for value in values:
        world.append("t", value)
    answer = await world.member().fetch()
    assert acquired(answer) == [(0, len(sizes) - 1, 1)]
    data = answer.responses[0].partitions[0].records
    batches = [data[position : position + header.size_in_bytes] for position, header in iter_batches(data)]
    assert [bytes(record.value or b"") for batch in batches for record in iter_records(batch)] == values


async def test_a_damaged_batch_is_an_error_of_its_partition() -> None:
    world = ShareWorld()
    world.append("t", b"a")
    member = world.member()
    await world.load()
    world.files.open(f"/data/t-0/{0:020d}.log").pwrite(b"\x09", MAGIC_POSITION)
    answer = await member.fetch()
    assert answer.responses[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
