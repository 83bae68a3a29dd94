"""Keys of tokens while a broker runs: when they are loaded again, and what becomes of failures."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from barnabas.broker.security.oauth_keys.files import read
from barnabas.broker.security.oauth_keys.refreshing_keys import (
    KEY_ID_CHARACTERS_MAX,
    MISSING_KEPT_MAX,
    MISSING_KEPT_MS,
    KeysOfFile,
    KeysOfServer,
    LoadFailed,
    Timing,
)
from barnabas.protocol.security.stores.files import state_of
from tests.support.security.signing import Signer, published
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import turn

TIMING = Timing(refresh_ms=3_600_000, retry_ms=100, retries_ms=1000)
ONE, TWO = Signer("one"), Signer("two")


class Server:
    """Publishes what a test says; an exception is its failure."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.published: bytes | Exception = published(ONE)
        self.asked = 0
        self.held: asyncio.Event | None = None
        self.keys = KeysOfServer("https://keys.test", self.load, TIMING, self.clock)

    async def load(self) -> bytes:
        self.asked += 1
        if self.held is not None:
            await self.held.wait()
        if isinstance(self.published, Exception):
            raise self.published
        return self.published

    def knows(self, key_id: str | None) -> bool:
        return self.keys.find(key_id, "ES256") is not None

    async def settle(self) -> None:
        """Until nothing is loaded any more, or it waits for the clock."""
        while (task := self.keys._task) is not None and not self.clock.pending_timers() > 1:
            await asyncio.wait([task], timeout=0.005)  # also of one that is done and not forgotten yet


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    yield made
    made.keys.close()


async def test_the_first_keys_are_there_when_it_has_begun(server: Server) -> None:
    assert not server.knows("one")
    await server.keys.begin()
    await server.keys.begin()
    assert (server.asked, server.knows("one"), server.knows(None)) == (1, True, True)


async def test_they_are_requested_from_time_to_time(server: Server) -> None:
    await server.keys.begin()
    server.published = published(TWO)
    server.clock.advance(TIMING.refresh_ms)
    await server.settle()
    assert (server.asked, server.knows("two"), server.knows(None)) == (2, True, True)
    server.clock.advance(TIMING.refresh_ms)
    await server.settle()
    assert server.asked == 3


async def test_a_key_that_is_missing_is_requested_at_once_and_not_again_within_a_minute(server: Server) -> None:
    await server.keys.begin()
    server.published = published(ONE, TWO)
    assert not server.knows("two")
    await server.settle()
    assert (server.asked, server.knows("two")) == (2, True)
    for _ in range(100):
        assert not server.knows("three")
        await server.settle()
    assert server.asked == 3
    server.clock.advance(MISSING_KEPT_MS)
    assert not server.knows("three")
    await server.settle()
    assert server.asked == 4


async def test_many_tokens_of_unknown_keys_ask_once_at_a_time_and_are_dropped(server: Server) -> None:
    await server.keys.begin()
    server.held = asyncio.Event()
    for number in range(1000):
        assert not server.knows(f"key-{number}")
    await turn()
    assert (server.asked, len(server.keys._missing)) == (2, MISSING_KEPT_MAX)
    server.held.set()
    await server.settle()
    assert not server.knows("x" * (KEY_ID_CHARACTERS_MAX + 1))
    await server.settle()
    assert server.asked == 2


async def test_a_failed_refresh_is_retried_and_the_keys_stay(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    await server.keys.begin()
    server.published = LoadFailed("the server responds with status 500")
    with caplog.at_level(logging.WARNING, "kafka.security"):
        server.clock.advance(TIMING.refresh_ms)
        for _ in range(20):
            await server.settle()
            server.clock.advance(100)
    assert (server.asked, server.knows("one")) == (6, True)  # at 0, 100, 300, 700 and 1000 ms
    assert "keys of tokens cannot be loaded" in caplog.text
    assert "status 500" in caplog.text
    server.published = published(TWO)
    server.clock.advance(TIMING.refresh_ms)
    await server.settle()
    assert server.knows("two")


@pytest.mark.parametrize("broken", [LoadFailed("nobody listens"), b"<html>", b"{}"])
async def test_a_server_that_is_not_there_yet_keeps_nobody_from_starting(
    server: Server, broken: bytes | Exception
) -> None:
    server.published = broken
    await server.keys.begin()
    assert not server.knows(None)
    server.published = published(ONE)
    server.clock.advance(TIMING.retries_ms)
    await server.settle()
    assert server.knows("one")


async def test_nothing_goes_on_after_the_end(server: Server) -> None:
    await server.keys.begin()
    server.held = asyncio.Event()
    assert not server.knows("two")
    task = server.keys._task
    assert task is not None
    server.keys.close()
    assert not server.knows("three")
    await asyncio.wait([task])
    assert (task.cancelled(), server.clock.pending_timers(), server.asked) == (True, 0, 1)


def of_file(path: Path) -> KeysOfFile:
    return KeysOfFile(str(path), lambda: state_of(str(path)), lambda: read(str(path), 10_000))


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(published(ONE))
    keys = of_file(path)
    assert [keys.find(key_id, "ES256") is not None for key_id in ("one", "two")] == [True, False]
    path.write_bytes(published(ONE, TWO))
    assert keys.find("two", "ES256") is not None


@pytest.mark.parametrize(
    "break_it", [Path.unlink, lambda path: path.write_bytes(b"{"), lambda path: path.write_bytes(bytes(20_000))]
)
def test_a_file_that_is_broken_meanwhile_leaves_the_keys(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, break_it: Callable[[Path], object]
) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(published(ONE))
    keys = of_file(path)
    break_it(path)
    with caplog.at_level(logging.WARNING, "kafka.security"):
        assert keys.find("one", "ES256") is not None
    assert "keys are not read again" in caplog.text


def test_a_file_has_to_be_good_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="No such file"):
        of_file(tmp_path / "keys.json")
    (tmp_path / "keys.json").write_text("{}")
    with pytest.raises(LoadFailed, match="it has no list of keys"):
        of_file(tmp_path / "keys.json")
