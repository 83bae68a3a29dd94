"""A partition of ten million records, on a disk: its page opens quickly, and holds little."""

import time
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pytest

from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.storage.disk.files import RealFiles
from tests.support.console.world import Console
from tests.support.worlds.broker import BrokerWorld, turn

RECORDS, IN_A_BATCH = 10_000_000, 100
OPENS_WITHIN_S = 0.3
HELD_BYTES_MAX = 20 << 20


@pytest.mark.long
async def test_the_page_of_ten_million_records_opens_in_time_and_in_little_memory(tmp_path: Path) -> None:
    files = cast("Any", RealFiles())
    settings = {"log.dirs": str(tmp_path), "log.segment.bytes": str(64 << 20)}
    world = BrokerWorld(settings, files, time.monotonic, topics={"t": 1})
    batch = bytes(build_batch([NewRecord(None, b"%03d" % number, (), 1) for number in range(IN_A_BATCH)]))
    for number in range(RECORDS // IN_A_BATCH):
        world.services.partitions.append("t", 0, bytearray(batch))
        if number % 1_000 == 0:
            await turn()
    console = Console(world)
    await console.get("/topics/t/0", **{"from": 0, "to": 10})  # what is loaded for the first page of all
    took_s = []
    for _ in range(3):
        begun = time.perf_counter()
        html = await console.get("/topics/t/0")
        took_s.append(time.perf_counter() - begun)
    assert min(took_s) < OPENS_WITHIN_S
    assert html.count('class="cell plain') > 100
    tracemalloc.start()
    for first in range(0, RECORDS, RECORDS // 40):
        await console.get("/topics/t/0", **{"from": first, "to": first + RECORDS // 40})
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < HELD_BYTES_MAX
