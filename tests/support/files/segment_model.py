"""A segment, and beside it a model that keeps its batches in a list."""

from collections.abc import Iterable
from typing import NamedTuple

from hypothesis import strategies as st

from barnabas.protocol.files import offset_index
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.record import iter_records
from barnabas.storage.config import LogConfig
from barnabas.storage.segment.segment import Segment
from tests.support.files.memory_files import MemoryFiles
from tests.support.records.batches import batch_of

BASE = 500
CONFIG = LogConfig(index_interval_bytes=300)
INDEX, TIME_INDEX, LOG = (f"{BASE:020d}.{kind}" for kind in ("index", "timeindex", "log"))

Steps = Iterable[tuple[list[int], int]]
"""For each batch the timestamps of its records, and the bytes of each value."""
ONE: Steps = (([1], 10),)


class Stored(NamedTuple):
    position: int
    base_offset: int
    timestamps: list[int]
    data: bytes

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self.timestamps) - 1


class Model:
    """A segment and beside it what it should hold."""

    def __init__(self, steps: Steps = (), config: LogConfig = CONFIG, *, seed: int = 0) -> None:
        self.files = MemoryFiles(seed).with_directory()
        self.directory = self.files.directory()
        self.config = config
        self.segment = Segment.create(self.directory, BASE, config, 0)
        self.stored: list[Stored] = []
        self.fill(steps)

    @property
    def next_offset(self) -> int:
        return self.stored[-1].last_offset + 1 if self.stored else BASE

    @property
    def size(self) -> int:
        return sum(len(stored.data) for stored in self.stored)

    def append(self, timestamps: list[int], value_bytes: int = 10) -> None:
        batch = batch_of(timestamps, base_offset=self.next_offset, value_bytes=value_bytes)
        stored = Stored(self.size, self.next_offset, timestamps, bytes(batch))
        assert self.segment.append(batch, stored.last_offset, max(timestamps)) == stored.position
        self.stored.append(stored)

    def fill(self, steps: Steps) -> None:
        for timestamps, value_bytes in steps:
            self.append(timestamps, value_bytes)

    def find(self, offset: int, segment: Segment | None = None) -> Stored | None:
        """What a segment (this one's own) reads at an offset: the batch in which it is, or the first one behind it."""
        segment = segment or self.segment
        found = segment.read(offset, 0, segment.size, True)
        if found is None:
            return None
        data = found.read_all()
        header = parse_header(data)
        return Stored(found.position, header.base_offset, [record.timestamp for record in iter_records(data)], data)

    def reopen(self) -> None:
        """As after a clean stop."""
        self.segment.close()
        self.directory = self.files.directory()
        self.segment = Segment.open(self.directory, BASE, self.config, 0, is_durable=True)

    def indexed(self) -> list[Stored]:
        """The batches that have an entry, by Kafka's counting of bytes since the last one."""
        entries, since = [], 0
        for stored in self.stored:
            if since > self.config.index_interval_bytes:
                entries.append(stored)
                since = 0
            since += len(stored.data)
        return entries

    def offset_index(self) -> bytes:
        """What the offset index holds."""
        return offset_index.encode([(stored.last_offset - BASE, stored.position) for stored in self.indexed()])

    def time_entries(self) -> list[tuple[int, int]]:
        """What the time index holds once the segment is sealed."""
        entries: list[tuple[int, int]] = []
        largest, at = -1, BASE
        indexed = {stored.position for stored in self.indexed()}
        for stored in self.stored:
            if max(stored.timestamps) > largest:
                largest, at = max(stored.timestamps), stored.last_offset
            if stored.position in indexed and largest > (entries[-1][0] if entries else -1):
                entries.append((largest, at - BASE))
        if largest > (entries[-1][0] if entries else -1):
            entries.append((largest, at - BASE))
        return entries


def counted(end: int, first: int = 0, value_bytes: int = 100) -> Steps:
    """Batches of one record, whose timestamp is the number of the batch."""
    return [([number], value_bytes) for number in range(first, end)]


appends = st.lists(st.tuples(st.lists(st.integers(0, 200), min_size=1, max_size=4), st.integers(0, 400)), max_size=25)
