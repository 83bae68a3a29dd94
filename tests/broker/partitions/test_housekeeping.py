"""What is done by the clock, while clients ask for much and topics go."""

import asyncio
import gc
from typing import Any

from barnabas.broker.runtime.scheduler import UNDER_WAY_MAX
from barnabas.protocol.files import meta_properties
from barnabas.storage.steps import Steps
from tests.support.worlds.broker import BrokerWorld

DAY_MS = 86_400_000
RETENTION_MS = 40_000  # after the start it has begun
MORE_THAN_A_SLICE = 1_500


async def with_ages_unknown() -> BrokerWorld:
    """A partition whose records are too old, in a directory of a version that did not know how old all of them are."""
    before = BrokerWorld()
    before.services.catalogue.create_topic("t", 1, {"retention.ms": str(DAY_MS)})
    batch = before.batch(b"v" * 1000)
    for _ in range(MORE_THAN_A_SLICE):
        before.services.partitions.append("t", 0, bytearray(batch))
    await before.close()
    meta = before.files.open("/data/meta.properties")
    text = meta_properties.encode(meta_properties.decode(meta.pread(meta.size(), 0))._replace(tells_all_times=False))
    meta.truncate(0)
    meta.pwrite(text, 0)
    world = BrokerWorld(files=before.files)
    world.clock.advance(2 * DAY_MS)
    await world.broker.start()
    return world


def endless() -> Steps[None]:
    while True:
        yield


async def test_retention_does_not_stand_in_line_behind_clients_look_ups() -> None:
    world = await with_ages_unknown()
    for _ in range(UNDER_WAY_MAX):
        world.services.request_scheduler.in_slices(endless)
    await world.advance(RETENTION_MS)
    assert world.services.partitions.get("t", 0).log_start_offset == MORE_THAN_A_SLICE


async def test_a_topic_deleted_while_its_ages_are_read_leaves_no_error_that_nobody_took() -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    world = await with_ages_unknown()
    world.clock.advance(RETENTION_MS)
    assert world.services.partitions.is_open("t", 0)
    world.services.catalogue.delete_topics(["t"])
    await world.advance(DAY_MS)
    await world.close()
    gc.collect()
    assert complaints == []
