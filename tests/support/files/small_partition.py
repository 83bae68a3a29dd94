"""A small partition with transactions in memory, the expected content, and one damaged file of it at a time.

Three segments, all acknowledged and synced; two leader epochs; a committed, an aborted and an open transaction, one of
them over two segments; records before offset 1 deleted. `CLEAN`: the broker was stopped. `KILLED`: it was killed after
a flush and a checkpoint, so the recovery point is the log's end.
"""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError, KafkaError
from barnabas.protocol.records.batch import iter_batches, verify_crc
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import StorageError
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.log import ROOT, LogWorld

CONFIG = LogConfig(index_interval_bytes=0, segment_bytes=420)
GONE, KEPT, PLAIN, OPEN = 5, 6, 7, 8

Content = dict[str, bytes]
"""Files by their paths."""


class Seen(NamedTuple):
    """What readers get of a partition."""

    records: tuple[tuple[int, bytes | None], ...]
    committed: tuple[tuple[int, bytes | None], ...]
    offsets: tuple[int, int, int]
    """Log start, last stable offset, log end."""
    epochs: tuple[tuple[int, int], ...]
    """For each leader epoch, the answer to OffsetForLeaderEpoch."""
    producers: tuple[object, ...]


class Damage(NamedTuple):
    """One change of one file: `content` is what it has then, None if it is gone."""

    path: str
    what: str
    content: bytes | None


@cache
def sound(*, is_clean: bool) -> tuple[Content, Seen]:
    """The files of a directory without damage, and their expected content."""
    world = LogWorld(config=CONFIG)
    world.open()
    _fill(world)
    world.flush()
    world.checkpoint()
    world.stop() if is_clean else world.kill()
    content = contents(world.files)
    return content, look(opened(content))


def _fill(world: LogWorld) -> None:
    world.append(b"a")
    world.append(b"b", producer_id=PLAIN, epoch=0, sequence=0)
    world.append(b"c", producer_id=GONE, epoch=0, sequence=0, transactional=True)
    world.append(b"d", producer_id=KEPT, epoch=0, sequence=0, transactional=True)
    world.append(b"e", producer_id=GONE, epoch=0, sequence=1, transactional=True)
    world.leader_epoch = 1
    world.append(b"f", b"g", producer_id=PLAIN, epoch=0, sequence=1)
    world.mark(GONE, 0, commit=False)
    world.append(b"h", producer_id=GONE, epoch=0, sequence=2, transactional=True)
    world.mark(KEPT, 0, commit=True)
    world.mark(GONE, 0, commit=True)
    world.append(b"i", producer_id=KEPT, epoch=0, sequence=1, transactional=True)
    world.mark(KEPT, 0, commit=False)
    world.append(b"j", producer_id=OPEN, epoch=0, sequence=0, transactional=True)
    world.append(b"k")
    world.log.delete_records_before(1)


def contents(files: MemoryFiles) -> Content:
    """Every file but the lock."""
    found: Content = {}
    for path in (ROOT, f"{ROOT}/t-0"):
        for name in files.peek_names(path):
            data = files.peek(f"{path}/{name}")
            if data is not None and name != ".lock":
                found[f"{path}/{name}"] = data
    return found


def opened(content: Content) -> LogWorld:
    """A world that has these files, and its partition open. StorageError."""
    world = world_of(content)
    world.open()
    return world


def world_of(content: Content) -> LogWorld:
    """A world that has these files, not opened."""
    world = LogWorld(config=CONFIG)
    for path in (ROOT, f"{ROOT}/t-0"):
        world.files.mkdir(path)
    for path, data in content.items():
        file = world.files.open(path, create=True)
        file.pwrite(data, 0)
        file.sync()
        file.close()
    return world


def look(world: LogWorld) -> Seen:
    """What readers get, if it is whole: StorageError or DecodeError where a broker or a client would raise it."""
    log = world.log
    _check_crcs(world)
    return Seen(
        tuple((record.offset, record.value) for record in world.records()),
        tuple((record.offset, record.value) for record in world.records(committed=True)),
        (log.log_start_offset, log.last_stable_offset, log.log_end_offset),
        tuple(log.end_offset_for_epoch(epoch) for epoch in range(3)),
        tuple(log.producers_state()),
    )


def _check_crcs(world: LogWorld) -> None:
    """As every client does of what it is sent."""
    offset = world.log.log_start_offset
    while offset < world.log.log_end_offset:
        result = world.log.read(offset, 1 << 20, committed=False, force_first_batch=True)
        if not result.size:
            return
        data = memoryview(result.read_all())
        for position, header in iter_batches(data):
            if not verify_crc(data[position : position + header.size_in_bytes]):
                raise DecodeError(f"crc of the batch at offset {header.base_offset}")
            offset = max(offset, header.next_offset)


def damages(content: Content) -> Iterator[Damage]:
    """Each file gone, truncated at each byte, and with each bit flipped."""
    for path, data in sorted(content.items()):
        yield Damage(path, "gone", None)
        for size in range(len(data)):
            yield Damage(path, f"cut at {size}", data[:size])
        for position in range(len(data)):
            for bit in range(8):
                flipped = bytearray(data)
                flipped[position] ^= 1 << bit
                yield Damage(path, f"bit {bit} of byte {position}", bytes(flipped))


def some_of(content: Content, seed: int, share: float) -> Iterator[Damage]:
    """A part of `damages`, another one for each seed; each file that is gone is in it."""
    chosen = Random(seed)
    return (each for each in damages(content) if each.content is None or chosen.random() < share)


def applied(content: Content, damage: Damage) -> Content:
    """The files with the damage."""
    changed = content | {damage.path: damage.content or b""}
    if damage.content is None:
        del changed[damage.path]
    return changed


class Outcome(NamedTuple):
    """What came of opening and reading damaged files: one of `seen` and `refused`, and whether opening refused."""

    seen: Seen | None
    refused: str
    at_opening: bool


def outcome(content: Content) -> Outcome:
    """Open and read."""
    try:
        world = opened(content)
    except StorageError as error:
        return Outcome(None, str(error), at_opening=True)
    try:
        return Outcome(look(world), "", at_opening=False)
    except (StorageError, DecodeError, KafkaError) as error:
        return Outcome(None, str(error), at_opening=False)
