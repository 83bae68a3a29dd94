"""`barnabas log repair`: it says what will be lost, does nothing unasked, and ends with a partition that opens."""

import os
from pathlib import Path

import pytest

from barnabas.broker.cli.log import run
from barnabas.protocol.files.checkpoints import decode_offsets, encode_offsets
from barnabas.protocol.records.batch import iter_batches
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import CorruptFile
from tests.support.files.data_directory import open_catalogue
from tests.support.files.log_directories import TOPIC_ID, checkpoint, flush, start
from tests.support.files.small_partition import CONFIG, Content, look, sound
from tests.support.files.small_partition import opened as opened_in_memory
from tests.support.records.batches import batch_of
from tests.support.worlds.log import ROOT

FIRST, SECOND, THIRD = (f"t-0/{base:020d}.log" for base in (0, 5, 11))


@pytest.fixture(params=[True, False], ids=["stopped", "killed"])
def data_dir(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A small partition on the disk."""
    content, _ = sound(is_clean=request.param)
    for path, data in content.items():
        target = tmp_path / "data" / path.removeprefix(f"{ROOT}/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return tmp_path / "data"


def snapshot(path: Path) -> dict[str, bytes]:
    return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}


def opened(data_dir: Path) -> Content:
    return {f"{ROOT}/{name}": data for name, data in snapshot(data_dir).items() if name != ".lock"}


def offsets_in(data_dir: Path) -> list[int]:
    """Of the records that readers get now."""
    return [offset for offset, _ in look(opened_in_memory(opened(data_dir))).records]


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


def position_of(path: Path, offset: int) -> int:
    return next(at for at, header in iter_batches(path.read_bytes()) if header.base_offset == offset)


def test_nothing_is_done_where_nothing_is_damaged(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(data_dir)
    assert run(["repair", str(data_dir), "--yes"]) == 0
    assert "nothing to repair" in capsys.readouterr().out
    assert {name: data for name, data in snapshot(data_dir).items() if name != ".lock"} == before


def test_a_damaged_batch_is_taken_out_and_the_others_stay(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = data_dir / FIRST
    position = position_of(log, 1)
    flip(log, position + 65)
    assert run(["verify", str(data_dir)]) == 1
    assert f"barnabas log repair {data_dir}" in capsys.readouterr().out
    before = snapshot(data_dir)

    assert run(["repair", str(data_dir)]) == 1
    said = capsys.readouterr().out
    assert f"{log} @ {position}: 70 bytes, offsets 1 to 1: damaged" in said
    assert {name: data for name, data in snapshot(data_dir).items() if name != ".lock"} == before

    assert run(["repair", str(data_dir), "t-0", "--yes"]) == 0
    assert f"{log}.broken has the removed bytes" in capsys.readouterr().out
    assert (data_dir / f"{FIRST}.broken").read_bytes() == before[FIRST][position:]
    assert offsets_in(data_dir) == [2, 3, 4, 5, 6, 8, 11, 13, 14]
    assert run(["verify", str(data_dir)]) == 0
    assert run(["repair", str(data_dir)]) == 0


def test_behind_damage_in_an_open_transaction_the_log_ends(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The marker at 7 aborts; without it, the one at 10 would commit what was aborted."""
    log = data_dir / SECOND
    position = position_of(log, 7)
    flip(log, position + 65)
    before = snapshot(data_dir)
    assert run(["repair", str(data_dir), "--yes"]) == 0
    said = capsys.readouterr().out
    assert (
        f"{log} @ {position}: {len(before[SECOND]) - position} bytes, offsets 7 to 10: damaged while a transaction"
        in said
    )
    assert f"{data_dir / THIRD} @ 0: {len(before[THIRD])} bytes, offsets 11 to 14: after the log's new end" in said
    assert (data_dir / f"{THIRD}.broken").read_bytes() == before[THIRD]
    assert offsets_in(data_dir) == [1, 2, 3, 4, 5, 6]
    assert run(["verify", str(data_dir)]) == 0


def test_an_end_that_is_gone_is_reported_and_accepted(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = data_dir / THIRD
    os.truncate(log, position_of(log, 14))
    assert run(["repair", str(data_dir), "--yes"]) == 0
    assert "0 bytes, offsets 14 to 14: they were synced, but are not on the disk" in capsys.readouterr().out
    assert offsets_in(data_dir)[-1] == 13
    assert decode_offsets((data_dir / "recovery-point-offset-checkpoint").read_bytes()) == {("t", 0): 14}


def test_an_offset_that_changed_costs_its_batch_alone(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = data_dir / FIRST
    position = position_of(log, 0)
    data = bytearray(log.read_bytes())
    data[position + 7] = 3
    log.write_bytes(data)
    assert run(["repair", str(data_dir), "--yes"]) == 0
    assert f"{log} @ {position}: 70 bytes, offsets 0 to 0: damaged" in capsys.readouterr().out
    assert offsets_in(data_dir) == [1, 2, 3, 4, 5, 6, 8, 11, 13, 14]


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "partition.metadata"])
def test_files_that_are_made_again_cost_no_record(
    data_dir: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_dir / "t-0" / name).write_bytes(b"?")
    assert run(["repair", str(data_dir), "--yes"]) == 0
    assert "0 bytes and 0 offsets are lost" in capsys.readouterr().out
    assert look(opened_in_memory(opened(data_dir))) == sound(is_clean=True)[1]


def test_a_damaged_checkpoint_is_set_aside(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data_dir / "log-start-offset-checkpoint"
    path.write_bytes(encode_offsets({("t", 0): 1}).replace(b"t 0 1", b"t 0 5"))
    assert run(["repair", str(data_dir), "--yes"]) == 0
    assert "records that were deleted by offset may appear again" in capsys.readouterr().out
    assert offsets_in(data_dir)[0] == 0


def test_a_directory_in_use_is_refused(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from barnabas.storage.errors import LockedError

    lock = RealFiles().lock(str(data_dir / ".lock"))
    try:
        with pytest.raises(LockedError):
            run(["repair", str(data_dir), "--yes"])
    finally:
        lock.release()


def test_a_missing_target_is_a_usage_error(data_dir: Path) -> None:
    from barnabas.broker.cli.terminal.failures import UsageError

    for name in ("nothing-0", "__cluster_metadata-0"):
        with pytest.raises(UsageError, match=name):
            run(["repair", str(data_dir), name])
    assert CONFIG.segment_bytes == 420


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
def test_a_directory_that_is_gone_is_made_anew_behind_what_was_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_clean: bool
) -> None:
    path = tmp_path / "data"
    catalogue = open_catalogue(path)
    catalogue.create_topic("t", 2)
    topic_id = catalogue.topics["t"].topic_id
    catalogue.close()
    rows = {("t", 0): 7, ("deleted", 0): 9}
    (path / "recovery-point-offset-checkpoint").write_bytes(encode_offsets(rows))
    (path / "log-start-offset-checkpoint").write_bytes(encode_offsets({("t", 0): 2}))
    if is_clean:
        (path / ".kafka_cleanshutdown").write_text("")
    assert run(["verify", str(path)]) == 1
    assert f"{path}/t-0 @ content: the directory is missing, and up to offset 7" in capsys.readouterr().out

    before = snapshot(path)
    assert run(["repair", str(path)]) == 1
    said = capsys.readouterr().out
    assert f"{path}/t-0 @ 0: 0 bytes, offsets 2 to 6: they were synced, but are not on the disk" in said
    assert f"{path}/t-0: the directory is missing. It is created again, empty, and starts at offset 7" in said
    assert "deleted" not in said
    assert {name: data for name, data in snapshot(path).items() if name != ".lock"} == before

    assert run(["repair", str(path), "t-0", "--yes"]) == 0
    assert "t-0: repaired, offsets 7 to 6" in capsys.readouterr().out
    assert run(["repair", str(path), "t-0"]) == 0
    directory = LogDirectory.open(str(path), RealFiles(), node_id=1, new_id=lambda: bytes(16))
    log = directory.open_log("t", 0, topic_id, CONFIG, 0)
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)
    directory.close(clean=True)


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
def test_where_a_segment_between_others_is_gone_a_batch_without_records_takes_its_offsets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_clean: bool
) -> None:
    path = tmp_path / "data"
    config = CONFIG._replace(segment_bytes=2 * len(batch_of([1_000])))
    directory = start(RealFiles(), str(path))
    log = directory.open_log("t", 0, TOPIC_ID, config, 1_000)
    for _ in range(9):
        log.append(batch_of([1_000]), leader_epoch=0, now_ms=1_000)
    flush(log)
    checkpoint(directory)
    directory.close(clean=is_clean)
    for each in path.glob(f"t-0/{4:020d}.*"):
        each.unlink()
    assert run(["verify", str(path)]) == 1
    with pytest.raises(CorruptFile, match="it is missing, by segment-checksums: offsets 4 to 5 are lost"):
        opened_again(path, config)
    capsys.readouterr()
    assert run(["repair", str(path)]) == 1
    assert f"{path}/t-0/{2:020d}.log @ 156: 0 bytes, offsets 4 to 5: the segment after it is missing" in (
        capsys.readouterr().out
    )
    assert run(["repair", str(path), "--yes"]) == 0
    assert run(["verify", str(path)]) == 0
    assert run(["repair", str(path)]) == 0
    assert opened_again(path, config) == (0, 9)


def opened_again(path: Path, config: LogConfig) -> tuple[int, int]:
    directory = start(RealFiles(), str(path))
    try:
        log = directory.open_log("t", 0, TOPIC_ID, config, 1_000)
        return log.log_start_offset, log.log_end_offset
    finally:
        directory.close(clean=False)


def test_where_a_segment_is_gone_in_an_open_transaction_the_log_ends(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in data_dir.glob(f"t-0/{5:020d}.*"):
        each.unlink()
    assert run(["repair", str(data_dir), "--yes"]) == 0
    said = capsys.readouterr().out
    assert "the segment after it is missing while a transaction is open" in said
    assert offsets_in(data_dir) == [1, 2, 3, 4]
    assert run(["verify", str(data_dir)]) == 0
