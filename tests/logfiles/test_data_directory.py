"""Which files of a directory are the log."""

from pathlib import Path

import pytest

from barnabas.logfiles.data_directory import ListedSegment, NoDataDirectory, live_files, read_layout
from barnabas.protocol.files.names import CLEANER_CHECKPOINT, LOG_START_CHECKPOINT, DirectoryState
from tests.support.files.segment_files import LogWriter


def everything(topic: str, partition: int) -> bool:
    return True


def test_only_live_files_are_listed_by_their_offsets() -> None:
    sizes = {
        "00000000000000000007.log": 70,
        "00000000000000000000.log": 30,
        "00000000000000000000.log.deleted": 1,
        "00000000000000000003.log.cleaned": 2,
        "00000000000000000004.log.swap": 3,
        "00000000000000000009.snapshot": 10,
        "00000000000000000007.snapshot": 10,
        "00000000000000000005.snapshot.deleted": 10,
        "notes.log": 5,
    }
    assert live_files(sizes) == ((ListedSegment(0, 30), ListedSegment(7, 70)), (7, 9))


def test_only_live_partitions_are_listed_unless_others_are_requested(tmp_path: Path) -> None:
    LogWriter(tmp_path, "a.b-c", 7)
    (tmp_path / "lost+found").mkdir()
    (tmp_path / f"gone-0.{'0' * 32}-delete").mkdir()
    (tmp_path / f"a.b-c-7.{'0' * 32}-stray").mkdir()
    (tmp_path / "orders-1").touch()
    assert [files.directory for files in read_layout(str(tmp_path), everything)] == [str(tmp_path / "a.b-c-7")]
    strays = read_layout(str(tmp_path), everything, {DirectoryState.LIVE, DirectoryState.STRAY})
    assert [files.topic for files in strays] == ["a.b-c", "a.b-c"]


def test_the_directory_of_one_partition_is_read_alone(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"v"])
    log.roll()
    LogWriter(tmp_path, "orders", 1)
    (files,) = read_layout(f"{log.directory}/", everything)
    assert (files.topic, files.partition, len(files.segments)) == ("orders", 0, 1)


def test_a_partition_without_a_segment_is_one_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / "partition.metadata").touch()
    (files,) = read_layout(str(tmp_path / "orders-0"), everything)
    assert files.segments == ()


def test_a_data_directory_may_be_called_like_a_partition(tmp_path: Path) -> None:
    log = LogWriter(tmp_path / "data-0")
    (files,) = read_layout(str(log.data_dir), everything)
    assert files.topic == "orders"


@pytest.mark.parametrize("name", ["", "nothing", "file", "orders-0"])
def test_an_invalid_data_directory_is_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("text")
    path = tmp_path / name if name else tmp_path
    if name == "orders-0":
        path.mkdir()
    with pytest.raises(NoDataDirectory, match=r"is not a data directory: it has neither|cannot be listed: "):
        read_layout(str(path), everything)


def test_checkpoints_tell_where_a_log_begins_and_how_far_it_was_compacted(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    log.data([b"v"])
    (tmp_path / LOG_START_CHECKPOINT).write_text("0\n1\norders 0 3\n")
    (tmp_path / CLEANER_CHECKPOINT).write_text("0\n1\norders 0 5\n")
    log.roll()
    (files,) = read_layout(str(tmp_path), everything)
    assert (files.log_start_offset, files.cleaned_to) == (3, 5)
    assert log.files().cleaned_to == 5  # the partition alone; what hides records is not looked for
    (tmp_path / CLEANER_CHECKPOINT).write_text("nonsense")
    assert read_layout(str(tmp_path), everything)[0].cleaned_to is None


def test_a_stray_directory_is_not_judged_by_the_checkpoints_of_the_live_one(tmp_path: Path) -> None:
    LogWriter(tmp_path)
    (tmp_path / f"orders-0.{'0' * 32}-stray").mkdir()
    (tmp_path / LOG_START_CHECKPOINT).write_text("0\n1\norders 0 3\n")
    (tmp_path / CLEANER_CHECKPOINT).write_text("0\n1\norders 0 5\n")
    live, stray = read_layout(str(tmp_path), everything, {DirectoryState.LIVE, DirectoryState.STRAY})
    assert (live.log_start_offset, live.cleaned_to) == (3, 5)
    assert (stray.log_start_offset, stray.cleaned_to) == (0, (1 << 63) - 1)  # any offset may be missing by right
