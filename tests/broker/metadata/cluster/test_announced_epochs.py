"""The leader epoch that clients are told of is one that every read knows, from the start of a run on.

Clients carry an epoch with a position (KIP-320): they take it from Metadata, ListOffsets or a batch, commit it, and ask
later where it ended. An answer of -1 has them ask again, or reset the position.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.registry import ApiKey
from barnabas.storage.log.offsets import EARLIEST, LATEST
from tests.support.files.memory_files import MemoryFiles
from tests.support.requests import epoch_ends, fetch, list_offsets
from tests.support.worlds.broker import BrokerWorld

Restart = Callable[[str], Awaitable["Asked"]]
ENDS = ["stop", "kill"]
RECORDS = 3
FETCH_VERSIONS = range(12, ApiKey.FETCH.max_version + 1)


class Asked:
    """A broker, and what a client asks it about the only partition of topic `t`."""

    def __init__(self, world: BrokerWorld) -> None:
        self.world = world

    async def _ask(self, request: Request, version: int) -> Any:
        return await self.world.asking(request, version).answer_to_come()

    async def announced(self) -> int:
        """The epoch in Metadata."""
        answer = await self._ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9)
        return int(answer.topics[0].partitions[0].leader_epoch)

    async def listed(self, timestamp: int) -> tuple[int, int]:
        """(epoch, offset) of a special timestamp."""
        answer = await self._ask(list_offsets(timestamp=timestamp), 10)
        return answer.topics[0].partitions[0].leader_epoch, answer.topics[0].partitions[0].offset

    async def end_of(self, epoch: int, version: int = 4) -> tuple[int, int]:
        """(epoch, end offset) of OffsetForLeaderEpoch."""
        answer = await self._ask(epoch_ends(epoch=epoch), version)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        return answer.topics[0].partitions[0].leader_epoch, answer.topics[0].partitions[0].end_offset

    async def fetch_after(self, epoch: int, offset: int, version: int) -> Any:
        """The partition's answer for a reader that has read to `offset`, the last of it in `epoch`."""
        topic_id = self.world.services.catalogue.topics["t"].topic_id
        asked = fetch(topic_id=topic_id, epoch=epoch, offset=offset)
        asked.topics[0].partitions[0].last_fetched_epoch = epoch
        answer = await self._ask(asked, version)
        return answer.responses[0].partitions[0]

    def append(self) -> None:
        """One record, in the epoch of this run."""
        self.world.services.partitions.append("t", 0, bytearray(self.world.batch(b"v")))


@pytest.fixture
async def restart() -> Restart:
    """The broker's next run, after a stop or a kill; before the first, the topic is made and written to."""
    files, runs = MemoryFiles(0), [BrokerWorld()]
    runs[0].is_closed = True

    async def next_run(end: str) -> Asked:
        if end == "kill":
            files.crash("everything")
            runs[-1].is_closed = True
        await runs[-1].close()
        runs.append(BrokerWorld(files=files))
        return Asked(runs[-1])

    first = await next_run("stop")
    first.world.services.catalogue.create_topic("t", 1)
    for _ in range(RECORDS):
        first.append()
    return next_run


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("version", range(2, 5))
async def test_the_announced_epoch_ends_at_the_logs_end(restart: Restart, end: str, version: int) -> None:
    asked = await restart(end)
    announced = await asked.announced()
    assert await asked.listed(LATEST) == (announced, RECORDS)
    assert await asked.end_of(announced, version) == (announced, RECORDS)
    assert await asked.end_of(announced + 1, version) == (-1, -1)
    asked.append()
    assert await asked.end_of(announced, version) == (announced, RECORDS + 1)


@pytest.mark.parametrize("end", ENDS)
async def test_an_epoch_ends_where_the_next_begins_before_and_after_an_append(restart: Restart, end: str) -> None:
    unused = await (await restart(end)).announced()
    asked = await restart(end)
    used = await asked.announced()
    assert used == unused, "what nothing was written in is announced again"
    asked.append()
    asked = await restart(end)
    assert await asked.announced() > used
    assert await asked.end_of(used) == (used, RECORDS + 1)
    asked.append()
    assert await asked.end_of(used) == (used, RECORDS + 1)


@pytest.mark.parametrize("end", ENDS)
async def test_an_emptied_log_begins_in_the_announced_epoch(restart: Restart, end: str) -> None:
    asked = await restart(end)
    asked.world.services.partitions.delete_records_before("t", 0, RECORDS)
    announced = await asked.announced()
    assert await asked.listed(EARLIEST) == (announced, RECORDS)
    assert await asked.end_of(announced) == (announced, RECORDS)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("version", FETCH_VERSIONS)
async def test_a_reader_in_the_announced_epoch_has_not_diverged(restart: Restart, end: str, version: int) -> None:
    asked = await restart(end)
    answer = await asked.fetch_after(await asked.announced(), RECORDS, version)
    assert answer.error_code == ErrorCode.NONE
    assert answer.diverging_epoch is None


async def test_announced_epochs_never_go_back(restart: Restart) -> None:
    epochs = []
    for number, end in enumerate([*ENDS, *ENDS, *ENDS, *ENDS]):
        asked = await restart(end)
        epochs.append(await asked.announced())
        if number % 3:
            asked.append()
            assert await asked.announced() == epochs[-1]
    assert epochs == sorted(epochs)
