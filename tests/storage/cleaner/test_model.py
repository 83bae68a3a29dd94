"""Whatever a log has been through, compaction leaves what a few lines say: the last committed record of every key."""

from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from barnabas.logfiles.data_directory import read_layout
from barnabas.logfiles.partition_check import check_partition
from barnabas.protocol.files.checkpoints import encode_offsets
from barnabas.protocol.files.names import CLEANER_CHECKPOINT
from barnabas.protocol.records.batch import verify_crc
from barnabas.storage.disk.files import RealFiles
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.compacted_log import TIME_MS, CompactedLog
from tests.support.worlds.random_log import RandomLog

DAY_MS = 86_400_000
_SEEDS = st.integers(0, 2**32 - 1)
_CODECS = st.sampled_from((0, 0, 1, 2, 3, 4))

Told = list[tuple[int, bytes | None, bytes | None]]


def survivors(history: Told, not_committed: set[int], cleaned_to: int, sealed_to: int) -> Told:
    """The model: (offset, key, value) of what readers of committed records find below `sealed_to`."""
    committed = [record for record in history if record[0] not in not_committed and record[0] < sealed_to]
    last = {record[1]: record[0] for record in committed if record[0] < cleaned_to}
    return [
        record
        for record in committed
        if record[0] >= cleaned_to or (record[1] is not None and record[0] == last[record[1]])
    ]


def committed_in(log: CompactedLog) -> Told:
    not_committed = log.not_committed()
    return [record for record in log.kept() if record[0] not in not_committed]


def expected_of(log: CompactedLog) -> Told:
    return survivors(log.history, log.not_committed(), log.first_dirty, log.end_offset)


def new_log() -> CompactedLog:
    return CompactedLog(MemoryFiles(now_ms=TIME_MS).with_directory("/log"), "/log")


@given(_SEEDS, _CODECS, st.sampled_from((24 * 6, 24 * 30, 1 << 16)), st.sampled_from((64, 1 << 12)))
def test_the_last_committed_record_of_every_key_stays(
    seed: int, compression: int, dedupe_buffer_bytes: int, io_buffer_bytes: int
) -> None:
    log = new_log()
    life = RandomLog(log, Random(seed), compression)
    for _ in range(4):
        life.go_on()
        log.clean(dedupe_buffer_bytes=dedupe_buffer_bytes, io_buffer_bytes=io_buffer_bytes)
        assert committed_in(log) == expected_of(log)
        assert all(verify_crc(batch) for _, batch in log.batches())
        offsets = [(header.base_offset, header.last_offset) for header, _ in log.batches()]
        assert offsets == sorted(offsets)


@given(_SEEDS, _CODECS)
def test_only_tombstones_and_markers_go_later(seed: int, compression: int) -> None:
    log = new_log()
    life = RandomLog(log, Random(seed), compression)
    life.go_on()
    log.clean()
    before = committed_in(log)
    horizon_ms = TIME_MS + DAY_MS
    for now_ms in (TIME_MS, horizon_ms - 1):
        log.clean(now_ms=now_ms)
        assert committed_in(log) == before
    log.clean(now_ms=horizon_ms)
    dropped = [record for record in before if record not in committed_in(log)]
    cleaned = [record for record in before if record[0] < log.first_dirty]
    assert dropped == [record for record in cleaned if record[2] is None]


@given(_SEEDS, _CODECS)
def test_a_third_round_changes_nothing(seed: int, compression: int) -> None:
    log = new_log()
    RandomLog(log, Random(seed), compression).go_on()
    log.clean()
    kept = log.kept()
    log.clean()  # markers of what went in the first round get their horizon
    assert log.kept() == kept
    second = log.batches()
    third = log.clean().groups
    assert log.batches() == second
    assert [group.log_bytes for group in third] == [len(log.log(group.base_offset)) for group in third]


def test_a_repaired_log_is_sound(tmp_path: Path) -> None:
    for seed in range(12):
        home = tmp_path / str(seed) / "orders-0"
        home.mkdir(parents=True)
        log = CompactedLog(RealFiles(), str(home))
        life = RandomLog(log, Random(seed), seed % 5)
        for number in range(3):
            life.go_on()
            log.clean(now_ms=TIME_MS + number * DAY_MS)
            (home.parent / CLEANER_CHECKPOINT).write_bytes(encode_offsets({("orders", 0): log.first_dirty}))
            (files,) = read_layout(str(home), lambda topic, partition: True)
            assert list(check_partition(files)) == []
