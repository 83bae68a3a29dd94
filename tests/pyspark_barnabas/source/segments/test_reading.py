"""What is listed, how it is cut, and what the options and filters leave of it."""

import random
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.logfiles.data_directory import PartitionFiles, read_layout
from barnabas.protocol.files import offset_index
from barnabas.protocol.files.names import LOG_START_CHECKPOINT, FileKind
from pyspark_barnabas.options import OptionError
from pyspark_barnabas.source.segments.pushdown import narrow
from pyspark_barnabas.source.segments.settings import SegmentReadSettings, read_settings
from pyspark_barnabas.source.segments.splits import OffsetBounds, Piece, plan
from pyspark_barnabas.source.segments.stretches import LogDamaged, Stretch, narrowed, read_stretches
from tests.support.files.segment_files import LogWriter


def everything(topic: str, partition: int) -> bool:
    return True


def read(parts: list[tuple[Piece, ...]], *, is_committed: bool = False, fail: bool = True) -> list[Stretch]:
    return [
        each
        for part in parts
        for piece in part
        for each in read_stretches(piece, is_committed=is_committed, fail_on_data_loss=fail)
    ]


def offsets(stretches: list[Stretch]) -> list[int | None]:
    return [None if each.header is None else each.header.base_offset for each in stretches]


def whole(files: PartitionFiles, wanted: OffsetBounds = OffsetBounds()) -> list[tuple[Piece, ...]]:  # noqa: B008  # because it is a value
    return plan([(files, wanted)], split_bytes=1 << 30, parts_min=1)


# --- the directory ---


def test_reading_begins_where_the_log_does(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    for _ in range(3):
        log.data([b"v", b"v"])
    log.roll()
    (tmp_path / LOG_START_CHECKPOINT).write_text("0\n1\norders 0 3\n")
    (files,) = read_layout(str(tmp_path), everything)
    assert offsets(read(whole(files, SegmentReadSettings("").offsets(files)))) == [2, 4]  # the batch has 2 and 3
    assert offsets(read(whole(files, SegmentReadSettings("", starting={("orders", 0): 0}).offsets(files)))) == [0, 2, 4]


# --- cutting ---


@given(st.integers(0, 2**32))
def test_parts_have_every_batch_once_in_order(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    randomness = random.Random(seed)
    log = LogWriter(tmp_path_factory.mktemp("log"))
    for _ in range(randomness.randint(1, 30)):
        log.data([b"v" * randomness.randint(0, 200)] * randomness.randint(1, 4))
        if randomness.random() < 0.1:
            log.roll(index=randomness.random() < 0.5)
    log.roll(index=randomness.random() < 0.5)
    (files,) = read_layout(str(log.directory), everything)
    split_bytes = randomness.randint(1, 3000)
    parts = plan([(files, OffsetBounds())], split_bytes=split_bytes, parts_min=randomness.randint(1, 4))
    assert [bytes(each.batch or b"") for each in read(parts)] == [
        bytes(each.batch or b"") for each in read(whole(files))
    ]


def test_a_large_segment_is_cut_where_its_index_specifies(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    for _ in range(100):
        log.data([b"v" * 100])
    log.roll()
    parts = plan([(log.files(), OffsetBounds())], split_bytes=2000, parts_min=1)
    sizes = [piece.end - piece.start for part in parts for piece in part]
    assert len(sizes) > 5
    assert max(sizes) < 4000
    assert offsets(read(parts)) == list(range(100))


@pytest.mark.parametrize("lie", [(1, 77), (10, 900), (99, 16)])
def test_an_index_that_lies_is_found_out(tmp_path: Path, lie: tuple[int, int]) -> None:
    log = LogWriter(tmp_path)
    for _ in range(100):
        log.data([b"v" * 100])
    index = log.path(FileKind.OFFSET_INDEX)
    log.roll()
    index.write_bytes(offset_index.encode([lie, (lie[0] + 1, lie[1] + 2000), (lie[0] + 2, lie[1] + 9000)]))
    files = log.files()
    assert offsets(read(plan([(files, OffsetBounds())], split_bytes=1000, parts_min=1))) == list(range(100))


def test_small_logs_share_a_part(tmp_path: Path) -> None:
    wanted = []
    for partition in range(50):
        log = LogWriter(tmp_path, "orders", partition)
        log.data([b"v"])
        wanted.append((log.files(), OffsetBounds()))
    assert len(plan(wanted, split_bytes=64 << 20, parts_min=4)) == 5
    assert len(read(plan(wanted, split_bytes=64 << 20, parts_min=4))) == 50


def test_segments_outside_of_the_range_are_not_opened(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    for _ in range(4):
        log.data([b"v", b"v"])
        log.roll()
    (files,) = read_layout(str(log.directory), everything)
    (part,) = whole(files, OffsetBounds(3, 5))
    assert [piece.segment for piece in part] == [1, 2]


# --- as consumers read ---


def test_committed_readers_get_no_markers_and_nothing_aborted_or_behind_an_open_transaction(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"committed"], producer=(1, 0))
    log.data([b"aborted"], producer=(2, 0))
    log.marker((1, 0), commit=True)
    log.marker((2, 0), commit=False)
    log.data([b"plain"])
    log.data([b"open"], producer=(1, 0), sequence=1)
    log.data([b"behind"])
    pieces = [tuple(narrowed(piece, 5) for piece in part) for part in whole(log.files())]
    assert offsets(read(pieces, is_committed=True)) == [0, 4]


def test_committed_readers_are_told_of_damage_unless_they_may_lose_data(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    for _ in range(3):
        log.data([b"v"])
    log.batches[1] = log.batches[1][:-1] + b"?"
    parts = whole(log.files())
    with pytest.raises(LogDamaged, match=r"orders-0/0+\.log, position 7\d: the CRC of this batch"):
        read(parts, is_committed=True)
    assert offsets(read(parts, is_committed=True, fail=False)) == [0, 2]
    assert [each.crc_ok for each in read(parts)] == [True, False, True]


def test_a_segment_that_is_deleted_meanwhile_is_reported(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"v"])
    files = log.files()
    Path(files.log_path(0)).unlink()
    with pytest.raises(LogDamaged, match="no longer exists: perhaps the segment was deleted"):
        read(whole(files))
    assert read(whole(files), fail=False) == []


# --- options and filters ---


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "no data directory: use load"),
        ({"path": "/d", "subscribe": "a", "assign": "{}"}, "exclude each other"),
        ({"path": "/d", "assign": '{"a":0}'}, "assign lists partitions by topic"),
        ({"path": "/d", "subscribepattern": "("}, "not a regular expression"),
        ({"path": "/d", "content": "rows"}, "one of records, batches, findings"),
        ({"path": "/d", "startingoffsets": '{"a":{"x":1}}'}, "is not an offset of a partition"),
        ({"path": "/d", "startingoffsets": '{"a":3}'}, "offsets by topic and partition"),
        ({"path": "/d", "splitbytes": "0"}, "splitBytes"),
    ],
)
def test_options_that_mean_nothing_are_refused_with_a_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        read_settings(options)


def test_topics_of_the_broker_itself_are_read_only_by_name() -> None:
    assert not read_settings({"path": "/d"}).wants("__consumer_offsets", 0)
    assert read_settings({"path": "/d"}).wants("__shop.ledger", 0)
    assert read_settings({"path": "/d", "subscribe": "__consumer_offsets"}).wants("__consumer_offsets", 0)
    assert read_settings({"path": "/d", "subscribepattern": "ord.*"}).wants("orders", 3)
    assert not read_settings({"path": "/d", "assign": '{"orders":[1]}'}).wants("orders", 3)


def test_paths_may_be_urls_of_files() -> None:
    assert read_settings({"path": "file:///var/data"}).path == "/var/data"
    assert read_settings({"path": "file:/var/data"}).path == "/var/data"


class EqualTo(NamedTuple):
    attribute: tuple[str, ...]
    value: object


class GreaterThan(EqualTo):
    pass


class LessThanOrEqual(EqualTo):
    pass


class In(EqualTo):
    pass


class StringEndsWith(EqualTo):
    pass


def test_filters_leave_fewer_partitions_and_offsets() -> None:
    wanted = narrow(
        [
            EqualTo(("topic",), "orders"),
            In(("partition",), (1, 2)),
            GreaterThan(("offset",), 10),
            LessThanOrEqual(("offset",), 20),
            StringEndsWith(("topic",), "x"),
            EqualTo(("headers", "topic"), "other"),
        ]
    )
    assert wanted.offsets == OffsetBounds(11, 21)
    assert wanted.place("orders", 2)
    assert not wanted.place("orders", 0)
    assert not wanted.place("other", 1)
