"""`barnabas log`: a sound directory has no findings, each kind of damage has one, and a dump says what is there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.files import offset_index, time_index
from barnabas.protocol.files.names import CLEAN_SHUTDOWN
from barnabas.protocol.records.batch import HEADER_SIZE, encode_batch, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker
from tests.support.command_line import Barnabas
from tests.support.records.batches import without_max_timestamp

T = 1_700_000_000_000
Verify = Callable[[Path], tuple[int, list[str]]]


def batch(base_offset: int, count: int = 2, compression: int = 0) -> bytearray:
    records = [NewRecord(b"k%d" % n, b"v%d" % n, (), T + base_offset + n) for n in range(count)]
    return build_batch(records, base_offset=base_offset, leader_epoch=0, compression=compression)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition of two segments with all codecs, a marker, and indexes that agree."""
    directory = tmp_path / "data" / "orders-0"
    directory.mkdir(parents=True)
    (tmp_path / "data" / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    first = [batch(2 * n, compression=n) for n in range(5)]
    write_segment(directory, 0, first)
    write_segment(directory, 10, [batch(10), end_txn_marker(True, 7, 0, 3, T + 50, base_offset=12, leader_epoch=0)])
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return directory


def write_segment(directory: Path, base_offset: int, batches: list[bytearray]) -> None:
    offsets, times, position = [], [], 0
    for one in batches:
        header = parse_header(one)
        if position:
            offsets.append((header.last_offset - base_offset, position))
            times.append((header.max_timestamp, header.last_offset - base_offset))
        position += len(one)
    stem = directory / f"{base_offset:020d}"
    stem.with_suffix(".log").write_bytes(b"".join(batches))
    stem.with_suffix(".index").write_bytes(offset_index.encode(offsets))
    stem.with_suffix(".timeindex").write_bytes(time_index.encode(times))


@pytest.fixture
def verify(offline: Barnabas) -> Verify:
    """The exit status, and the lines that are findings."""

    def found(directory: Path) -> tuple[int, list[str]]:
        status, out, _ = offline("log", "verify", str(directory))
        return status, [line for line in out.splitlines() if " @ " in line]

    return found


def segment(directory: Path, base_offset: int) -> Path:
    return directory / f"{base_offset:020d}.log"


def append(path: Path, data: bytes | bytearray) -> None:
    path.write_bytes(path.read_bytes() + data)


def damage(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


def test_a_sound_directory_has_no_findings(partition: Path, verify: Verify) -> None:
    assert verify(partition.parent) == (0, [])
    assert verify(partition) == (0, [])


def test_totals_count_what_was_read(partition: Path, offline: Barnabas) -> None:
    totals = json.loads(offline("log", "verify", str(partition), "--json").stdout)
    assert (totals["partitions"], totals["segments"], totals["batches"], totals["records"]) == (1, 2, 7, 13)


def test_a_flipped_bit_is_found_where_it_lies(partition: Path, verify: Verify) -> None:
    log = segment(partition, 0)
    second = len(batch(0))
    damage(log, second + HEADER_SIZE, b"\xff")
    status, (line,) = verify(partition)
    assert status == 1
    assert line.startswith(f"{log} @ {second}: the CRC of this batch of ")
    assert "from offset 2" in line


def test_records_that_disagree_with_their_header_are_found(partition: Path, verify: Verify) -> None:
    """What the broker takes on trust: the CRC holds, the count does not."""
    lying = batch(20)
    header = parse_header(lying)._replace(records_count=3, last_offset_delta=2)
    log = segment(partition, 20)
    log.write_bytes(encode_batch(header, lying[HEADER_SIZE:]))
    late = encode_batch(parse_header(batch(30))._replace(max_timestamp=T + 999), batch(30)[HEADER_SIZE:])
    segment(partition, 30).write_bytes(late)
    status, lines = verify(partition)
    assert status == 1
    assert any(line.startswith(f"{log} @ 0: batch at offset 20: ") for line in lines)
    assert any(f"largest timestamp is {T + 999} in the header, {T + 31} in the records" in line for line in lines)


def test_an_index_that_tells_of_a_timestamp_no_header_has_is_sound(partition: Path, verify: Verify) -> None:
    """As the broker makes it where a client left the largest timestamp out; of the header there is a finding."""
    bare = without_max_timestamp(batch(20))
    segment(partition, 20).write_bytes(bare)
    (partition / f"{20:020d}.timeindex").write_bytes(time_index.encode([(T + 21, 1)]))
    status, lines = verify(partition)
    assert status == 1
    assert [line for line in lines if f"{20:020d}" in line] == [
        f"{partition}/{20:020d}.log @ 0: batch at offset 20: "
        f"the largest timestamp is -1 in the header, {T + 21} in the records"
    ]


def test_lz4_that_java_cannot_read_is_found(partition: Path, verify: Verify) -> None:
    sound = batch(20, compression=3)
    sound[HEADER_SIZE + 4] &= ~0x20  # the flag that says that blocks are independent
    segment(partition, 20).write_bytes(encode_batch(parse_header(sound), sound[HEADER_SIZE:]))
    status, lines = verify(partition)
    assert status == 1
    assert any("lz4 blocks depend on each other" in line for line in lines)


def test_overlapping_offsets_and_falling_epochs_are_found(partition: Path, verify: Verify) -> None:
    again = build_batch([NewRecord(b"k", b"v", (), T)], base_offset=11, leader_epoch=-1)
    append(segment(partition, 10), again)
    _, lines = verify(partition)
    assert any("(by its header from offset 11), where that offset cannot be" in line for line in lines)
    append(segment(partition, 10), build_batch([NewRecord(b"k", b"v", (), T)], base_offset=13, leader_epoch=-1))
    _, lines = verify(partition)
    assert any("leader epoch -1, and leader-epoch-checkpoint has 0 for it" in line for line in lines)


def test_a_torn_tail_is_a_note_in_the_last_segment_only(partition: Path, verify: Verify) -> None:
    append(segment(partition, 10), batch(13)[:50])
    status, (line,) = verify(partition)
    assert (status, "note: the file ends inside a batch" in line) == (0, True)
    append(segment(partition, 0), batch(10)[:50])
    assert verify(partition)[0] == 1


def test_a_preallocated_index_of_a_killed_kafka_is_sound(partition: Path, verify: Verify) -> None:
    for suffix in (".index", ".timeindex"):
        append(partition / f"{10:020d}{suffix}", bytes(2400))
    assert verify(partition) == (0, [])


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_entry_that_points_nowhere_is_found(partition: Path, verify: Verify, suffix: str) -> None:
    index = partition / f"{0:020d}{suffix}"
    damage(index, 3, b"\x7f")
    status, (line,) = verify(partition)
    assert (status, str(index) in line) == (1, True)


def test_damage_does_not_hide_what_is_wrong_behind_it(partition: Path, verify: Verify) -> None:
    """The walk goes on at the next whole batch, where it used to end."""
    log = segment(partition, 0)
    damage(log, 16, b"\x09")
    damage(log, log.stat().st_size - 5, b"\xff")
    _, lines = verify(partition)
    assert [line.partition(" @ ")[2].partition(" ")[2] for line in lines] == [
        f"{len(batch(0))} bytes are not a batch",
        f"the CRC of this batch of {len(batch(8, compression=4))} bytes (by its header from offset 8) is not that of"
        " its bytes",
    ]


def test_a_finding_has_a_kind_a_position_and_an_offset_for_programs(partition: Path, offline: Barnabas) -> None:
    log = segment(partition, 10)
    damage(log, HEADER_SIZE, b"\xff")
    status, told, _ = offline("log", "verify", "--json", str(partition))
    row = json.loads(told.splitlines()[0])
    assert status == 1
    assert row.pop("text").startswith("the CRC of this batch")
    assert row == {"path": str(log), "place": "0", "is_note": False, "kind": "crc", "position": 0, "offset": 10}


def test_a_partition_that_is_being_deleted_is_not_looked_into(partition: Path, verify: Verify) -> None:
    damage(segment(partition, 10), HEADER_SIZE, b"\xff")
    stray = partition.rename(partition.with_name(f"orders-0.{'a' * 32}-stray"))
    assert verify(stray.parent)[0] == 1
    stray.rename(partition.with_name(f"orders-0.{'a' * 32}-delete"))
    (partition.parent / "orders-1").mkdir()
    assert verify(partition.parent) == (0, [])


def test_a_source_without_partitions_is_refused_with_a_sentence(
    partition: Path, tmp_path: Path, offline: Barnabas
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other" / "named-1").mkdir(parents=True)
    for path in (segment(partition, 0), tmp_path / "empty", tmp_path / "other"):
        status, _, said = offline("log", "verify", str(path))
        assert (status, "not a data directory" in said) == (1, True)


def test_a_damaged_snapshot_is_found(partition: Path, verify: Verify) -> None:
    (partition / f"{10:020d}.snapshot").write_bytes(b"\x00\x01" + bytes(8))
    assert verify(partition)[0] == 0  # a note: a power cut may have torn it
    (partition.parent / CLEAN_SHUTDOWN).touch()
    assert verify(partition)[0] == 1


def dumped(offline: Barnabas, path: Path) -> tuple[int, list[dict[str, Any]], list[dict[str, Any]]]:
    """The exit status, all rows, and those of batches."""
    status, out, _ = offline("log", "dump", "--json", "--records", str(path))
    rows = [json.loads(line) for line in out.splitlines()]
    return status, rows, [row for row in rows if "compresscodec" in row]


def test_dump_shows_batches_records_markers_and_entries(partition: Path, offline: Barnabas) -> None:
    status, rows, batches = dumped(offline, partition)
    assert status == 0
    assert [row["compresscodec"] for row in batches] == ["none", "gzip", "snappy", "lz4", "zstd", "none", "none"]
    assert all(row["isvalid"] for row in batches)
    records = [row for row in rows if row.get("|") == "record"]
    assert [row["offset"] for row in records] == list(range(13))
    assert records[1]["key"] == "k1"
    assert records[-1] | {"endTxnMarker": "COMMIT", "coordinatorEpoch": 3} == records[-1]
    assert {"file": str(partition / "leader-epoch-checkpoint"), "epoch": 0, "startOffset": 0} in rows


def test_dump_says_where_it_finds_nothing_to_print(partition: Path, tmp_path: Path, offline: Barnabas) -> None:
    (tmp_path / "other").mkdir()
    status, out, err = offline("log", "dump", str(tmp_path / "other"), str(partition))
    assert (status, err) == (1, f"barnabas: there is no file of a data directory below {tmp_path / 'other'}\n")
    assert f"Dumping {segment(partition, 0)}" in out


def test_dump_states_where_damage_begins(partition: Path, offline: Barnabas) -> None:
    log = segment(partition, 0)
    damage(log, len(batch(0)) + 16, b"\x09")
    status, told, _ = offline("log", "dump", str(log))
    assert (status, f"position: {len(batch(0))}" in told.splitlines()[-1]) == (1, True)


def test_dump_shows_a_batch_with_a_wrong_crc_and_says_so_with_its_exit_status(
    partition: Path, offline: Barnabas
) -> None:
    log = segment(partition, 0)
    damage(log, len(batch(0)) + HEADER_SIZE, b"\xff")
    status, rows, batches = dumped(offline, log)
    assert status == 1
    assert [row["isvalid"] for row in batches] == [True, False, True, True, True]
    assert [row["offset"] for row in rows if row.get("|") == "record"] == [0, 1, *range(4, 10)]
