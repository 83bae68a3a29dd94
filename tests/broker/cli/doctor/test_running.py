"""The findings of the doctor about a running broker, by the answers that a client gets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from barnabas.broker.cli.doctor import running
from barnabas.broker.cli.doctor.finding import CheckResult
from barnabas.broker.config import load_config
from barnabas.broker.metadata.image.topic_changes import NewTopic
from barnabas.broker.network.bound_sockets import bind_listeners
from barnabas.broker.server.start import start_broker
from barnabas.client.addresses import Address
from barnabas.client.clock import SystemClientClock
from barnabas.protocol.errors import KafkaError
from tests.support.processes.forwarder import Forwarder

TIMEOUT_MS = 30_000


@asynccontextmanager
async def broker(data_dir: Path, *settings: str) -> AsyncIterator[Address]:
    """A broker in this process; where it is."""
    config, _ = load_config(settings=["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={data_dir}", *settings])
    bound = bind_listeners(config)
    started = await start_broker(config, bound, descriptor_limit=256)
    try:
        yield Address("127.0.0.1", bound[0].port)
    finally:
        await started.stop()


async def examine(*addresses: Address) -> dict[str, CheckResult]:
    found = await asyncio.to_thread(running.examine, addresses, SystemClientClock(), TIMEOUT_MS)
    return {each.check: each for each in found}


async def test_a_broker_that_is_what_it_says_is_fine(tmp_path: Path) -> None:
    async with broker(tmp_path / "data") as address:
        found = await examine(address)
    assert {check: each.level for check, each in found.items()} == {
        "bootstrap": "ok",
        "node 1": "ok",
        "disk": found["disk"].level,
        "descriptors": "note",
        "hanging": "note",
    }
    assert found["node 1"].text == f"advertises {address}, the address that was used"
    assert str(tmp_path / "data") in found["disk"].text
    assert found["hanging"].advice is not None
    assert found["hanging"].advice.startswith(f"`barnabas why hanging --bootstrap-server {address}`")


async def test_an_advertised_address_of_another_way_to_the_same_broker_is_fine(tmp_path: Path) -> None:
    with Forwarder("127.0.0.2") as mapped:
        async with broker(tmp_path / "data", f"advertised.listeners=PLAINTEXT://{mapped.address}") as address:
            mapped.target = address
            found = await examine(address)
            assert found["node 1"].text == f"advertises {mapped.address}: it leads to the same cluster"


async def test_a_port_that_is_mapped_to_another_number_is_explained(tmp_path: Path) -> None:
    with Forwarder() as mapped:
        async with broker(tmp_path / "data", "advertised.listeners=PLAINTEXT://localhost:1") as address:
            mapped.target = address
            found = (await examine(Address("localhost", mapped.port)))["node 1"]
    assert found.level == "problem"
    assert found.text.startswith("advertises localhost:1, which does not lead to it: cannot connect")
    assert found.advice == (
        f"port 1 seems to be mapped to {mapped_port(found)}: map it to the same number, "
        f"or set KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:{mapped_port(found)}"
    )


def mapped_port(found: CheckResult) -> str:
    assert found.advice is not None
    return found.advice.rpartition(":")[2]


async def test_an_advertised_address_of_another_cluster_is_reported(tmp_path: Path) -> None:
    async with (
        broker(tmp_path / "other") as other,
        broker(tmp_path / "data", f"advertised.listeners=PLAINTEXT://{other}") as address,
    ):
        found = (await examine(address))["node 1"]
        both = await examine(address, other)
    assert (found.level, f"advertises {other}, which leads to another cluster" in found.text) == ("problem", True)
    assert both["bootstrap"].text == "the addresses lead to different clusters"


async def test_a_free_address_and_a_foreign_listener_are_distinguished(tmp_path: Path) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    other = Address(*server.sockets[0].getsockname()[:2])
    found = (await examine(other))["bootstrap"]
    assert (found.level, found.advice) == (
        "problem",
        "check that it speaks Kafka's protocol, and whether it needs TLS or SASL (--command-config)",
    )
    server.close()
    await server.wait_closed()
    found = (await examine(other))["bootstrap"]
    assert (found.level, found.text) == ("problem", f"cannot connect to {other}: connection refused")


@pytest.mark.parametrize(
    ("told", "remedy"),
    [
        (Address("localhost", 9092), "clients on other machines would look for it on their own machine"),
        (
            Address("kafka", 9092),
            "set advertised.listeners to an address that clients can connect to, such as PLAINTEXT://10.0.0.5",
        ),
    ],
)
def test_the_remedy_fits_what_is_reported(told: Address, remedy: str) -> None:
    assert running._remedy(Address("10.0.0.5", 9092), told).startswith(remedy)


async def test_a_partition_that_could_not_be_opened_is_named(tmp_path: Path) -> None:
    config, _ = load_config(settings=["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={tmp_path / 'data'}"])
    bound = bind_listeners(config)
    started = await start_broker(config, bound, descriptor_limit=256, topics=[NewTopic("t", 2)])
    try:
        directory = tmp_path / "data" / "t-1"
        directory.mkdir()
        (directory / "partition.metadata").write_text("damaged")
        started.services.partitions.directory.members[0]._live.add(("t", 1))
        with pytest.raises(KafkaError):
            started.services.partitions.get("t", 1)
        found = await examine(Address("127.0.0.1", bound[0].port))
    finally:
        await started.stop()
    assert found["partitions"].level == "problem"
    assert found["partitions"].text.endswith("could not be opened, and requests get KAFKA_STORAGE_ERROR: t-1")
