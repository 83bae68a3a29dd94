# compiled: mypyc, as compaction runs it for each record
"""The first pass of the compiled form: a record is read and its key is put into the map without an object in between.

The map is that of `offset_map.py` in a vector of 64-bit numbers, with which only compiled code is fast. Keys of up to
15 bytes are compared whole: their bytes and their size fit into the 16 bytes of two hashes. Of a longer key there are
124 bits of hashes. The place follows from products with random odd numbers (multiply-shift), as a client cannot choose
keys that collide then.

The products wrap, which the form that is not compiled does not do: this module is for `job.py` alone, in the compiled
form.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from librt.strings import read_i64_le
from librt.vecs import vec
from xxhash import xxh3_64_intdigest

from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.plain_record import PlainRecord
from barnabas.protocol.records.record_rows import ROWS_MAX
from barnabas.storage.cleaner.dirty_records import LATEST, SUPERSEDED, TOMBSTONE, DirtyRecords
from barnabas.storage.cleaner.offset_map import COLUMNS, PLACES_AT_ONCE, OffsetMap
from barnabas.storage.cleaner.results import CleanTally

if TYPE_CHECKING:
    from mypy_extensions import i64, u8  # offsets and positions, which have fewer bits, and hashes, which may wrap

_RECORDS_AT_ONCE: Final = 512  # between two pauses
_WORD_BYTES: Final = 8
_WHOLE_BYTES_MAX: Final = 15
_SIZE_SHIFT: Final = 56  # of a whole key's size, above up to seven of its bytes
_LOW_BYTES: Final = (1 << 56) - 1
_IS_HASH: Final = 1 << 62  # larger than any size
_LOW_HALF: Final = 0xFFFFFFFF


class VectorOffsetMap(OffsetMap):
    """A map in a vector of numbers."""

    def __init__(self, memory_bytes: int, load_factor: float, keys_max: int) -> None:
        super().__init__(memory_bytes, load_factor, keys_max)
        self._table = _free_places(self._places)
        self._factor_1: i64 = _odd(self._seed, 1)
        self._factor_2: i64 = _odd(self._seed, 2)
        self._factor_3: i64 = _odd(self._seed, 3)
        self._factor_4: i64 = _odd(self._seed, 4)

    @property
    def room(self) -> int:
        """The number of keys that can be put before the map is full or has to grow."""
        room = self.entries_max - self.entries
        return min(room, 3 * self._places // 4 - self.entries) if self._growths else room

    def put(self, key: bytes, offset: int) -> int:
        if self.is_crowded(1):
            for _ in self.growing():
                pass
        return self.put_part(key, 0, len(key), offset)

    def put_part(self, buffer: bytes, at: i64, size: i64, offset: i64) -> i64:
        """Do as `put` with the key of `size` bytes at a position of `buffer`, in a map that has room."""
        first, second = self._identity(buffer, at, size)
        table = self._table
        place = self._find(table, self._places, first, second)
        previous = table[place + 2]
        if previous == 0:
            table[place] = first
            table[place + 1] = second
            self.entries += 1
        table[place + 2] = offset + 1
        return previous - 1

    def get(self, key: bytes) -> int:
        first, second = self._identity(key, 0, len(key))
        table = self._table
        return table[self._find(table, self._places, first, second) + 2] - 1

    def growing(self) -> Generator[int, None, None]:
        places = self._places_after(self._growths - 1)
        table = _free_places(places)
        for begin in range(0, self._places, PLACES_AT_ONCE):
            self._move(begin, table, places)
            yield 0
        self._table, self._places, self._growths = table, places, self._growths - 1

    def _move(self, begin: i64, table: vec[i64], places: i64) -> None:
        """Put some of the entries into a larger table."""
        old = self._table
        source: i64 = COLUMNS * begin
        end: i64 = min(source + COLUMNS * PLACES_AT_ONCE, len(old))
        while source < end:
            if old[source + 2] != 0:
                at = self._find(table, places, old[source], old[source + 1])
                table[at] = old[source]
                table[at + 1] = old[source + 1]
                table[at + 2] = old[source + 2]
            source += COLUMNS

    def _identity(self, buffer: bytes, at: i64, size: i64) -> tuple[i64, i64]:
        """Return two numbers by which the key at a position of `buffer` is known."""
        if size <= _WORD_BYTES:
            return _word(buffer, at, size), size << _SIZE_SHIFT
        if size <= _WHOLE_BYTES_MAX:
            rest = _word(buffer, at + _WORD_BYTES, size - _WORD_BYTES)
            return read_i64_le(buffer, at), (rest >> 8 & _LOW_BYTES) | size << _SIZE_SHIFT
        key = buffer[at : at + size]
        first: i64 = hash(key)
        second: i64 = xxh3_64_intdigest(key, self._seed) >> 4
        return first, second | _IS_HASH

    def _find(self, table: vec[i64], places: i64, first: i64, second: i64) -> i64:
        """Return the position of a key's entry, or the free position where it would be put."""
        place = _part(first * self._factor_1 + second * self._factor_2, places)
        at: i64 = COLUMNS * place
        if (table[at] == first and table[at + 1] == second) or table[at + 2] == 0:
            return at
        stride = 1 + _part(first * self._factor_3 + second * self._factor_4, places - 1)
        while True:
            place += stride
            if place >= places:
                place -= places
            at = COLUMNS * place
            if (table[at] == first and table[at + 1] == second) or table[at + 2] == 0:
                return at


class VectorDirtyRecords(DirtyRecords):
    """States in a vector of bytes. A view of a vector is for reading only, so what changes them is here again."""

    def __init__(self, first_dirty: int, size: int) -> None:
        self._vector = vec[u8]([0] * size)
        super().__init__(first_dirty, size, memoryview(self._vector))

    def begin_batch(self, header: BatchHeader) -> bool:
        if not self.is_covered(header):
            return False
        vector = self._vector
        at: i64 = header.base_offset - self.first_dirty
        end: i64 = at + header.records_count
        while at < end:
            vector[at] = LATEST
            at += 1
        return True

    def note(self, offset: int, state: int) -> None:
        self.mark(offset, state)

    def mark(self, offset: i64, state: u8) -> None:
        """Do as `note`."""
        at: i64 = offset - self.first_dirty
        if at < len(self._vector):
            self._vector[at] = state


class VectorKeyTaker:
    """Takes the plain records of a batch into a map and the states, until one is not plain or the map has no room."""

    def __init__(
        self, offset_map: VectorOffsetMap, records: VectorDirtyRecords, max_record_bytes: int, tally: CleanTally
    ) -> None:
        self._map = offset_map
        self._records = records
        self._bytes_max: i64 = max_record_bytes
        self._tally = tally
        self._record = PlainRecord()

    def take(
        self, buffer: bytes, position: int, left: int, last_offset: int, header: BatchHeader
    ) -> tuple[int, int, int]:
        """Take records from `position` on; return the position behind them, their number, and the last one's offset."""
        room = self._map.room
        if room < ROWS_MAX:
            return position, 0, last_offset
        base: i64 = header.base_offset
        offset_max: i64 = header.last_offset
        has_states = self._records.is_covered(header)
        offset: i64 = last_offset
        at: i64 = position
        count: i64 = 0
        end: i64 = min(left, room, _RECORDS_AT_ONCE)
        record = self._record
        while count < end and record.read(buffer, at, self._bytes_max):
            next_offset = base + record.offset_delta
            if not offset < next_offset <= offset_max:
                break
            offset = next_offset
            previous = self._map.put_part(buffer, record.key_at, record.key_size, offset)
            if previous >= 0:
                self._records.mark(previous, SUPERSEDED)
            if has_states and not record.has_value:
                self._records.mark(offset, TOMBSTONE)
            at = record.end
            count += 1
        if count > 0:
            self._records.latest_offset = offset
            self._tally.map_messages_read += count
        return at, count, offset


def _odd(seed: int, number: int) -> int:
    """Return an odd number that follows from a secret."""
    return xxh3_64_intdigest(b"factor %d" % number, seed) >> 1 | 1


def _free_places(places: i64) -> vec[i64]:
    return vec[i64]([0] * (COLUMNS * places))


def _word(buffer: bytes, at: i64, size: i64) -> i64:
    """Return up to eight bytes as a number, in its upper bytes."""
    if size == 0:
        return 0
    if at + _WORD_BYTES <= len(buffer):
        return read_i64_le(buffer, at) << 8 * (_WORD_BYTES - size)  # a mask would need 1 << n, which C takes in 32 bits
    word: i64 = 0
    left = size
    while left > 0:
        left -= 1
        word = word << 8 | buffer[at + left]
    return word << 8 * (_WORD_BYTES - size)


def _part(product: i64, parts: i64) -> i64:
    """Return which of so many equal parts of all 2^32 values the upper half of a product is in."""
    return (product >> 32 & _LOW_HALF) * parts >> 32
