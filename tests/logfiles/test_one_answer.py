"""Whoever reads a damaged log is told the same: `barnabas log verify`, and each part of Spark's source."""

import json
from pathlib import Path

import pytest

from barnabas.broker.cli.log import run
from barnabas.logfiles.data_directory import read_layout
from barnabas.logfiles.findings import Finding, FindingKind
from barnabas.logfiles.segment_check import check_segment
from barnabas.logfiles.walk import Damage
from barnabas.protocol.files.checkpoints import encode_offsets
from barnabas.protocol.files.names import LEADER_EPOCH_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from pyspark_barnabas.source.segments.splits import OffsetBounds, plan, whole_segments
from pyspark_barnabas.source.segments.stretches import read_stretches
from tests.support.files.damage import WAYS, Way, write_sound_log

DAMAGES = frozenset(damage.value for damage in Damage)
Told = tuple[str, str, int | None, int | None, str]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    return write_sound_log(tmp_path / "data")


def told_by_verify(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[Told]]:
    status = run(["verify", "--json", str(path)])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = [(row["kind"], row["path"], row["position"], row["offset"], row["text"]) for row in rows[:-1]]
    assert rows[-1]["findings"] == sum(not row["is_note"] for row in rows[:-1])
    return status, told


def told_by_findings(path: Path) -> list[Finding]:
    """What the tasks of `content=findings` find, one for each segment."""
    layout = read_layout(str(path), lambda topic, partition: True)
    pieces = whole_segments([(files, OffsetBounds()) for files in layout])
    return [finding for piece in pieces for finding in check_segment(piece.files, piece.segment)]


def told_by_rows(path: Path) -> list[tuple[int, str]]:
    """The damaged stretches among the rows of `content=records` and `content=batches`."""
    layout = read_layout(str(path), lambda topic, partition: True)
    parts = plan([(files, OffsetBounds()) for files in layout], split_bytes=1 << 30, parts_min=1)
    stretches = (
        stretch
        for part in parts
        for piece in part
        for stretch in read_stretches(piece, is_committed=False, fail_on_data_loss=True)
    )
    return [(stretch.position, stretch.damage) for stretch in stretches if stretch.damage is not None]


def test_a_sound_log_has_no_findings(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told_by_verify(partition.parent, capsys) == (0, [])
    assert told_by_verify(partition, capsys) == (0, [])
    assert told_by_findings(partition.parent) == []
    assert told_by_rows(partition.parent) == []


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_all_say_the_same_of_a_damaged_one(partition: Path, way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    way(partition)
    status, told = told_by_verify(partition.parent, capsys)
    found = told_by_findings(partition.parent)
    assert [(each.kind.value, *each[1:5]) for each in found] == told
    assert [(each.kind, each.path, each.is_note) for each in found] == [
        (way.kind, str(partition / way.file), way.is_note)
    ]
    assert status == (0 if way.is_note else 1)
    of_the_walk = [(each.position, each.detail) for each in found if each.kind.value in DAMAGES]
    assert told_by_rows(partition.parent) == of_the_walk


def test_all_say_the_same_of_a_partition_without_segments(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for log in partition.glob("*.log"):
        log.unlink()
    (partition / LEADER_EPOCH_CHECKPOINT).write_text("nonsense")
    _, told = told_by_verify(partition.parent, capsys)
    found = told_by_findings(partition.parent)
    assert [(each.kind.value, *each[1:5]) for each in found] == told
    assert FindingKind.LEADER_EPOCHS in {each.kind for each in found}
    assert told_by_rows(partition.parent) == []


def test_there_is_a_way_to_each_kind_of_finding() -> None:
    assert {way.kind for way in WAYS} == set(FindingKind) - {FindingKind.DATA_DIRECTORY}  # no partition's


def test_a_checkpoint_that_has_changed_is_found(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = partition.parent / RECOVERY_POINT_CHECKPOINT
    path.write_bytes(encode_offsets({("orders", 0): 3}).replace(b"orders 0 3", b"orders 0 7"))
    status, told = told_by_verify(partition.parent, capsys)
    assert (status, [each[:2] for each in told]) == (1, [(FindingKind.DATA_DIRECTORY.value, str(path))])
