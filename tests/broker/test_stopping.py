"""A broker that stops: what it waits for, and what is not done any more afterwards."""

import asyncio
import errno
from functools import partial

import pytest

from barnabas.broker.partitions.produce.batch_validations import PendingValidation
from barnabas.broker.server.nodes import local_nodes
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.storage.errors import StorageError
from tests.support.requests import produce
from tests.support.worlds.broker import BrokerWorld, code_of, settle

TIMEOUT_S = 10
LARGE = b"v" * 10_000  # is walked before it is appended, not where it lies


@pytest.mark.pure
@pytest.mark.parametrize("how", ["stop", "abandon", "neither"])
async def test_pending_requests_are_not_appended_to_a_stopped_broker(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = BrokerWorld()
    world.services.catalogue.create_topic("t", 1, {"compression.type": "gzip"})
    world.append("t", b"v")
    walked: asyncio.Future[bytearray] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(
        world.services.batch_validations,
        "walk",
        lambda _, log, *rest: PendingValidation(walked, log, log.config, parked_bytes=0),
    )
    topic_id = world.services.catalogue.topics["t"].topic_id
    client = world.asking(produce(world.batch(LARGE), topic_id=topic_id))
    client.transport.hang_up()
    await settle()
    if how == "stop":
        await world.close()
    elif how == "abandon":
        world.abandon()
    calls = len(world.files.calls)
    walked.set_result(bytearray(world.batch(LARGE)))
    await settle()
    appended = [call.name for call in world.files.calls[calls:] if call.name == "pwrite"]
    assert appended == (["pwrite"] if how == "neither" else [])
    if how != "neither":
        assert len(world.files.calls) == calls


async def test_a_stopped_broker_has_no_logs() -> None:
    world = BrokerWorld(topics={"t": 3})
    partitions = world.services.partitions
    partitions.append("t", 0, bytearray(world.batch(b"v")))
    await world.close()
    calls = len(world.files.calls)
    partitions.lead([("t", 1), ("t", 2)])
    for partition in range(2):
        for find in (partitions.get, partitions.get_led):
            assert code_of(partial(find, "t", partition)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert list(partitions.open_logs()) == []
    assert len(world.files.calls) == calls


async def test_a_peer_that_does_not_read_holds_no_stop_up_while_the_clock_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_nodes, "_DRAIN_MS", 1)
    world = BrokerWorld()
    began_ms = world.clock.now_ms()
    peer = world.connect(kernel_bytes=1)
    await peer.put(MetadataRequest(topics=None))
    assert peer.connection.is_busy
    await asyncio.wait_for(world.close(), TIMEOUT_S)
    assert peer.is_closed
    assert world.clock.now_ms() == began_ms


async def test_a_stop_that_cannot_note_where_the_catalogue_ends_leaves_no_marker_and_the_next_start_is_right() -> None:
    world = BrokerWorld(topics={"t": 1})
    world.append("t", b"v")
    world.files.fail("pwrite", errno.ENOSPC, path="catalogue-end")
    with pytest.raises(StorageError, match="catalogue-end"):
        await world.close()
    world.files.heal()
    assert ".kafka_cleanshutdown" not in world.files.peek_names("/data")
    again = BrokerWorld(files=world.files)
    assert again.services.partitions.get("t", 0).log_end_offset == 1
    await again.close()
    assert ".kafka_cleanshutdown" in world.files.peek_names("/data")
