"""Whatever a request asks for, and however much, no turn of the loop takes long: every API, each list of its request
very long in turn, from somebody who may do everything and from somebody who may do nothing.

What is measured is the processor time of this thread, of which other programs take none; who is over the limit is asked
again in a new broker, since a slow moment of the machine is none of the broker's.
"""

import asyncio
import gc
from time import thread_time

import pytest

from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.metadata.catalogue import NewTopic
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support import requests
from tests.support.depth import long
from tests.support.files.memory_files import MemoryFiles
from tests.support.largest_requests import WIDE, Ask, Maker, asks
from tests.support.turn_limit import REFERENCE_MS, TURN_MS, limit_ms, turn_limit_ms
from tests.support.worlds.broker import BrokerWorld, until

TRIES = 8
TOPICS = 1_000
"""How many there are, and groups of the same names. The others that a request names are missing."""
MEMBERS = 500
"""Of the group that most requests name."""
DAY_MS = "86400000"
BREATH_S = 0.001
"""How long the loop is left alone: slices rest for twice as long."""
PATIENCE_BREATHS = 5
RIGHTS = {"everything": "ANONYMOUS", "nothing": "somebody-else"}
"""What the client may do, and who is the super user then."""


class RoomyFiles(MemoryFiles):
    """On a disk that does not count its files, of which there are ten thousands, when it is asked for its room."""

    def used(self) -> int:
        return 0


class Driver:
    """A broker that holds much, and whoever asks it."""

    def __init__(self, rights: str, size: int) -> None:
        settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": f"User:{RIGHTS[rights]}"}
        self._is_allowed = rights == "everything"
        settings |= {"delegation.token.secret.key": "key-of-a-test", "offsets.topic.num.partitions": "5"}
        settings |= dict.fromkeys(
            ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"), DAY_MS
        )
        self._world = BrokerWorld(settings, RoomyFiles(0), stopwatch=thread_time)
        catalogue = self._world.services.catalogue
        names = [f"t-{number}" for number in range(TOPICS)]
        catalogue.create_topics([NewTopic(name, 1) for name in names])
        wide_id = catalogue.create_topic(WIDE, size).topic_id
        ids = [catalogue.topics[name].topic_id for name in names]
        for name, topic_id in zip(names, ids, strict=True):
            self._commit(name, [OffsetToCommit(name, topic_id, 0, 1, 0, "")])
        self._commit(WIDE, [OffsetToCommit(WIDE, wide_id, number, 1, 0, "") for number in range(size)])
        self.maker = Maker(size, ids, wide_id)

    def _commit(self, group: str, offsets: list[OffsetToCommit]) -> None:
        request = CommitRequest(group, -1, "", None, tuple(offsets))
        self._world.services.groups.commit_offsets(request, missing_group=ErrorCode.NONE)

    async def begin(self) -> None:
        """Have the transactional id that a request names wait for its first partition, and the group have members."""
        if not self._is_allowed:
            return
        answer = await self._world.ask(requests.init_producer("t-0"))
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (ErrorCode.NONE, 0, 0)
        for number in range(MEMBERS):
            joining = ConsumerGroupHeartbeatRequest(
                group_id="t-0",
                member_id=f"t-{number}",
                member_epoch=0,
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=["t-0"],
                topic_partitions=[],
            )
            answer = await self._world.ask(joining)
            assert answer.error_code == ErrorCode.NONE, answer

    async def longest_turn_ms(self, frame: bytes) -> float:
        """What the longest turn takes of the processor until it is answered, or the connection closed."""
        peer, services = self._world.connect(), self._world.services
        await until(
            lambda: services.request_scheduler.are_over and services.upkeep.are_over
        )  # with what was asked for before
        begun = thread_time()
        peer.transport.send(frame)
        longest = thread_time() - begun
        written, idle = asyncio.ensure_future(peer.transport.written.wait()), 0
        while not (peer.transport.written.is_set() or peer.is_closed):
            begun = thread_time()
            await asyncio.wait({written}, timeout=BREATH_S)
            longest = max(longest, thread_time() - begun)
            idle = idle + 1 if services.request_scheduler.are_over and services.upkeep.are_over else 0
            if idle == PATIENCE_BREATHS:  # it waits for something
                idle = 0
                self._world.clock.advance(1000)
        written.cancel()
        if not peer.is_closed:
            peer.transport.hang_up()
        return longest * 1000

    def close(self) -> None:
        """Without a clean stop, which would close thousands of logs."""
        self._world.abandon()


async def _again_ms(rights: str, ask: Ask, size: int) -> float:
    driver = Driver(rights, size)
    await driver.begin()
    took_ms = await driver.longest_turn_ms(driver.maker.frame(ask))
    driver.close()
    return took_ms


@pytest.mark.parametrize("size", [4_000, long(10_000)])
async def test_no_request_holds_the_loop(size: int) -> None:
    drivers = {rights: Driver(rights, size) for rights in RIGHTS}
    for driver in drivers.values():
        await driver.begin()
    slow: dict[str, float] = {}
    gc.freeze()
    gc.disable()  # how long a collection takes is told elsewhere: test_garbage_collection.py
    try:
        for ask in asks():
            frame = drivers["everything"].maker.frame(ask)
            for rights, driver in drivers.items():
                took_ms = await driver.longest_turn_ms(frame)
                for _ in range(TRIES - 1):
                    if took_ms > TURN_MS and took_ms > turn_limit_ms():
                        took_ms = min(took_ms, await _again_ms(rights, ask, size))
                if took_ms > TURN_MS and took_ms > turn_limit_ms():
                    slow[f"{ask} of who may do {rights}"] = round(took_ms)
    finally:
        for driver in drivers.values():
            driver.close()
        gc.enable()
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # as the tests were before: tests/conftest.py
    assert slow == {}


def test_the_limit_of_a_turn_is_larger_on_a_slow_machine_and_no_smaller_on_a_fast_one() -> None:
    assert limit_ms([REFERENCE_MS, 2 * REFERENCE_MS, 9 * REFERENCE_MS]) == 2 * TURN_MS
    assert limit_ms([REFERENCE_MS / 2]) == TURN_MS
