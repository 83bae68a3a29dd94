"""A partition as a whole: its segments, and files that belong to none of them."""

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.logfiles.data_directory import PartitionFiles, read_layout
from barnabas.logfiles.findings import FindingKind
from barnabas.logfiles.partition_check import check_partition
from barnabas.logfiles.segment_check import CheckTally
from tests.support.files.damage import LAST, write_sound_log


def listed(partition: Path) -> PartitionFiles:
    (files,) = read_layout(str(partition), lambda topic, partition: True)
    return files


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    return write_sound_log(tmp_path / "data")


def test_everything_is_counted_and_progress_is_reported_after_each_segment(partition: Path) -> None:
    tally, seen = CheckTally(), list[int]()
    assert list(check_partition(listed(partition), tally=tally, segment_done=lambda: seen.append(tally.segments))) == []
    size = sum(path.stat().st_size for path in partition.glob("*.log"))
    assert vars(tally) == {"partitions": 1, "segments": 3, "batches": 12, "records": 18, "size_bytes": size}
    assert seen == [1, 2, 3]


def test_a_segment_that_retention_takes_meanwhile_has_no_findings(partition: Path) -> None:
    files, tally = listed(partition), CheckTally()
    (partition / f"{0:020d}.log").unlink()
    assert list(check_partition(files, tally=tally)) == []
    assert tally.segments == 2


def test_a_partition_without_segments_has_its_other_files(partition: Path) -> None:
    for path in partition.glob("*.log"):
        path.unlink()
    (partition / "leader-epoch-checkpoint").write_text("nonsense")
    (partition / f"{LAST:020d}.snapshot").write_bytes(b"nonsense")
    kinds = [finding.kind for finding in check_partition(listed(partition))]
    assert kinds == [FindingKind.LEADER_EPOCHS, FindingKind.PRODUCER_SNAPSHOT]


@given(st.integers(0, 2**32))
def test_no_damage_is_too_much_for_it(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    data_dir = tmp_path_factory.mktemp("damaged") / "data"
    partition = write_sound_log(data_dir)
    for _ in range(chance.randint(1, 3)):
        path = chance.choice(sorted(partition.iterdir()))
        data = bytearray(path.read_bytes())
        at = chance.randint(0, len(data))
        data[at : at + chance.choice((0, 1, 30))] = chance.randbytes(chance.choice((0, 1, 4, 40)))
        path.write_bytes(data[: chance.choice((None, chance.randint(0, len(data))))])
    for finding in check_partition(listed(partition)):
        assert Path(finding.path).parent == partition
        assert finding.detail
    shutil.rmtree(data_dir)
