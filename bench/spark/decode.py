"""The rate at which one processor turns records into Arrow columns: all at once, as the source does, and one by one."""

import random
import time
from collections.abc import Callable, Iterator

from barnabas.protocol.records.batch import BatchHeader, iter_batches
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.record import iter_records
from pyspark_barnabas.source.decoding.decoded_columns import read_columns

Figures = dict[str, float]

_BATCH_BYTES = 16_384
_TOTAL_BYTES = 12 << 20
_ROUNDS = 5
_LZ4 = 3


def decode_rates() -> Iterator[tuple[str, Figures]]:
    """Yield (kind of records, records per processor second), the best of some rounds each."""
    for size in (100, 1000):
        yield f"{size} B, all alike", _rates(size, spread=0)
        yield f"{size} B, of many lengths", _rates(size, spread=size // 4)
        yield f"{size} B, of many lengths, lz4", _rates(size, spread=size // 4, compression=_LZ4)
        yield f"{size} B, of many lengths, two headers", _rates(size, spread=size // 4, headers=True)


def _rates(size: int, *, spread: int, compression: int = 0, headers: bool = False) -> Figures:
    data = memoryview(_batches(size, spread, compression, headers))
    batches = [(header, data[start : start + header.size_in_bytes]) for start, header in iter_batches(data)]
    records = sum(header.records_count for header, _ in batches)
    return {
        "at_once_per_second": records / _best_cpu_s(lambda: _at_once(batches, headers)),
        "one_by_one_per_second": records / _best_cpu_s(lambda: _one_by_one(batches)),
    }


def _batches(size: int, spread: int, compression: int, headers: bool) -> bytes:
    draw = random.Random(size + spread)
    per_batch = _BATCH_BYTES // (size + 10)
    both = [("source", b"orders-3"), ("trace", b"0123456789abcdef")] if headers else []
    found = bytearray()
    offset = 0
    while len(found) < _TOTAL_BYTES // (4 if compression else 1):
        rows = [
            (
                b"%08d" % draw.randrange(10**8),
                draw.randbytes(size - 8 + draw.randint(-spread, spread)),
                both,
                offset + n,
            )
            for n in range(per_batch)
        ]
        found += build_batch(rows, base_offset=offset, compression=compression)
        offset += per_batch
    return bytes(found)


def _best_cpu_s(work: Callable[[], None]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


def _at_once(batches: list[tuple[BatchHeader, memoryview]], headers: bool) -> None:
    for _ in read_columns(batches, with_headers=headers):
        pass


def _one_by_one(batches: list[tuple[BatchHeader, memoryview]]) -> None:
    for _, batch in batches:
        for _ in iter_records(batch):
            pass
