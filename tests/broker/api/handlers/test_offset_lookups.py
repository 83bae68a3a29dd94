"""ListOffsets, OffsetForLeaderEpoch and Fetch in a later leader epoch; tests/golden/probes asks the rest."""

from typing import Any

import pytest

from barnabas.broker.api.handlers.list_offsets import SINCE_VERSION
from barnabas.protocol.errors import ErrorCode
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld

E = ErrorCode
EPOCH = 2  # a run before, and nobody's while that was over


@pytest.fixture
async def world() -> BrokerWorld:
    """Three records of epoch 0 and one of this run's."""
    before = BrokerWorld(topics={"t": 1})
    before.append("t", b"a", b"b", b"c")
    await before.close()
    world = BrokerWorld(files=before.files)
    world.append("t", b"d")
    return world


def only(answer: Any) -> Any:
    ((found,),) = [topic.partitions for topic in getattr(answer, "topics", None) or answer.responses]
    return found


@pytest.mark.parametrize(("timestamp", "since"), sorted(SINCE_VERSION.items()))
async def test_a_special_timestamp_is_known_from_its_version_on(world: BrokerWorld, timestamp: int, since: int) -> None:
    asked = requests.list_offsets(timestamp=timestamp)
    assert only(await world.ask(asked, since)).error_code == E.NONE
    if since > 1:
        assert only(await world.ask(asked, since - 1)).error_code == E.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(EPOCH - 1, E.FENCED_LEADER_EPOCH), (EPOCH + 1, E.UNKNOWN_LEADER_EPOCH), (EPOCH, E.NONE), (-1, E.NONE)],
)
async def test_each_read_knows_the_leader_epoch(world: BrokerWorld, epoch: int, code: ErrorCode) -> None:
    found = only(await world.ask(requests.list_offsets(epoch=epoch)))
    assert (found.error_code, found.offset, found.leader_epoch) == (code, *((-1, -1) if code else (4, EPOCH)))
    assert only(await world.ask(requests.epoch_ends(current=epoch))).error_code == code
    assert only(await world.ask(requests.fetch(epoch=epoch), requests.BY_NAME)).error_code == code


@pytest.mark.parametrize(("epoch", "end"), [(0, (0, 3)), (1, (0, 3)), (EPOCH, (EPOCH, 4)), (EPOCH + 1, (-1, -1))])
async def test_an_epoch_ends_where_the_next_begins(world: BrokerWorld, epoch: int, end: tuple[int, int]) -> None:
    found = only(await world.ask(requests.epoch_ends(epoch=epoch)))
    assert (found.leader_epoch, found.end_offset) == end


async def test_deleting_records_moves_the_start_and_never_back(world: BrokerWorld) -> None:
    for offset, start in ((2, 2), (1, 2), (-1, 4)):
        found = only(await world.ask(requests.delete_records("t", offset)))
        assert (found.error_code, found.low_watermark) == (E.NONE, start)
