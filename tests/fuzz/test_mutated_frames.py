"""Frames that no client of good will sends, for every API and version there is, through connection and dispatch.

Each is derived from the seed (`--seed`, by default the day's), its API, its version and its number; a failure tells
how to have it again. The broker must answer or close, stay within its memory, and serve the next client as ever. One
in a hundred goes over a socket to a broker in a process of its own.
"""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random

import pytest

from barnabas.broker.api.api_table import ApiRow
from barnabas.protocol.headers import encode_request_header
from barnabas.protocol.registry import ApiKey, request_codec, spec
from tests.support.fuzz.arena import Arena
from tests.support.fuzz.judge import Finding, judge
from tests.support.fuzz.mutations import Sent, mutate
from tests.support.fuzz.next_client import NextClient
from tests.support.fuzz.offered import SETTINGS, TABLE
from tests.support.fuzz.requests import odd_request
from tests.support.fuzz.socket_client import SocketClient
from tests.support.fuzz.stage import Facts, set_stage
from tests.support.processes.own_broker import OwnBroker

EVERY_VERSION = [
    pytest.param(row.key, version, id=f"{row.key.name}-v{version}")
    for row in TABLE
    for version in range(row.min_version, row.max_version + 1)
]
every_version = pytest.mark.parametrize(("key", "version"), EVERY_VERSION)
every_api = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.key.name)

FRAMES_PER_WORLD = 200
WORLDS_LONG = 50
TRACE_EVERY = 5
SOCKET_SHARE = 100
RESIDENT_MB_MAX = 256


class Frame:
    """One broken frame, and how to have it again."""

    def __init__(self, key: ApiKey, version: int, facts: Facts, rng: Random, name: str) -> None:
        self.request = odd_request(spec(key).request, version, facts, rng)
        correlation_id, client_id = rng.randrange(-(1 << 31), 1 << 31), rng.choice((None, "", "fuzz"))
        payload = encode_request_header(key, version, correlation_id, client_id)
        self.sent: Sent = mutate(payload + request_codec(key, version).encode(self.request), rng)
        self.name = name

    def told(self, finding: Finding, again: str) -> Finding:
        """The finding, with all that one needs to look into it."""
        return Finding(
            f"{self.name}, {self.sent.how} in pieces of {self.sent.step}: {finding}\n"
            f"request: {self.request!r:.2000}\n"
            f"bytes: {self.sent.data[:1000].hex()}\n"
            f"again: .venv/bin/python -m pytest tests/fuzz {again}"
        )


async def feed(key: ApiKey, version: int, seed: int, world: int, trace_every: int, again: str) -> None:
    """One world's frames."""
    rng = Random(f"{seed} {key.name} {version} {world}")
    async with Arena(rng, trace_every) as arena:
        for number in range(FRAMES_PER_WORLD):
            frame = Frame(key, version, arena.stage.facts, rng, f"frame {number} of world {world}")
            try:
                await arena.play(frame.sent)
            except Finding as finding:
                raise frame.told(finding, again) from finding


@every_version
async def test_a_broken_frame_is_answered_or_closes_and_harms_nobody(key: ApiKey, version: int, seed: int) -> None:
    again = f"--seed {seed} -m 'not long' -k '{key.name}-v{version}]'"
    await feed(key, version, seed, 0, TRACE_EVERY, again)


@pytest.mark.long
@every_version
async def test_ten_thousand_of_them(key: ApiKey, version: int, seed: int) -> None:
    again = f"--seed {seed} -m long -k 'ten_thousand and {key.name}-v{version}]'"
    for world in range(1, WORLDS_LONG):
        await feed(key, version, seed, world, TRACE_EVERY, again)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnBroker]:
    with OwnBroker(tmp_path_factory.mktemp("broker"), SETTINGS) as broker:
        yield broker
        assert broker.stop() == 0


@pytest.fixture
async def client(broker: OwnBroker) -> AsyncIterator[SocketClient]:
    client = SocketClient(broker.port)
    yield client
    await client.close()


async def feed_by_socket(
    broker: OwnBroker, client: SocketClient, row: ApiRow, seed: int, count: int, again: str
) -> None:
    """`count` frames of each version of one API, to the broker in its process."""
    rng = Random(f"{seed} {row.key.name} by socket")
    said_before = len(broker.log)
    stage = await set_stage(client.ask, _now_ms(), rng, f"{row.key.name}-{count}-")
    next_client = NextClient(client.ask, stage, _now_ms)
    for version in range(row.min_version, row.max_version + 1):
        for number in range(count):
            frame = Frame(row.key, version, stage.facts, rng, f"frame {number} of v{version}")
            try:
                answers = await client.send(frame.sent)
                judge(frame.sent.data, answers, is_closed=True, is_waiting=False)
                await next_client.ask_something_ordinary()
                if " ERROR " in broker.log[said_before:]:
                    raise Finding(broker.log[broker.log.index(" ERROR ", said_before) :])
            except Finding as finding:
                raise frame.told(finding, again) from finding
    assert resident_peak_mb(broker.pid) < RESIDENT_MB_MAX


@every_api
async def test_over_a_socket_too(broker: OwnBroker, client: SocketClient, row: ApiRow, seed: int) -> None:
    again = f"--seed {seed} -m 'not long' -k 'socket and {row.key.name}]'"
    await feed_by_socket(broker, client, row, seed, FRAMES_PER_WORLD // SOCKET_SHARE, again)


@pytest.mark.long
@every_api
async def test_over_a_socket_a_hundred_times(broker: OwnBroker, client: SocketClient, row: ApiRow, seed: int) -> None:
    again = f"--seed {seed} -m long -k 'socket and {row.key.name}]'"
    await feed_by_socket(broker, client, row, seed, FRAMES_PER_WORLD * WORLDS_LONG // SOCKET_SHARE, again)


def resident_peak_mb(pid: int) -> float:
    """The most memory the process ever had."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
