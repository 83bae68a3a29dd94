"""The file system of tests/transactions/test_power_cuts.py loses what was not synced, and nothing else."""

import fcntl
import mmap
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.lossy.disk import LossyDisk

PATIENCE_S = 30.0
SEEDS = range(12)
WRITES_FOR_EVER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
print("begins", flush=True)
while True:
    os.write(file, b"x")
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory, lossy_disks: None) -> Iterator[LossyDisk]:
    with LossyDisk(tmp_path_factory.mktemp("lossy")) as disk:
        yield disk


@pytest.fixture
def folder(disk: LossyDisk, request: pytest.FixtureRequest) -> Path:
    """One of the test's own, which is safe."""
    folder: Path = disk.place / request.node.name
    folder.mkdir()
    sync(disk.place)
    return folder


def write(path: Path, data: bytes, *, is_synced: bool = False) -> None:
    path.write_bytes(data)
    if is_synced:
        sync(path)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_was_written_and_not_synced_is_gone(disk: LossyDisk, folder: Path) -> None:
    write(folder / "synced", b"kept", is_synced=True)
    write(folder / "written", b"lost")
    sync(folder)
    disk.cut_power("nothing")
    assert (folder / "synced").read_bytes() == b"kept"
    assert (folder / "written").read_bytes() == b""


def test_a_file_whose_directory_was_not_synced_is_gone(disk: LossyDisk, folder: Path) -> None:
    write(folder / "a", b"synced", is_synced=True)
    disk.cut_power("nothing")
    assert names(folder) == set()


def test_everything_is_kept_where_everything_survives(disk: LossyDisk, folder: Path) -> None:
    write(folder / "a", b"written")
    disk.cut_power("everything")
    assert (folder / "a").read_bytes() == b"written"


def test_a_rename_is_safe_once_its_directory_is_synced_and_not_before(disk: LossyDisk, folder: Path) -> None:
    seen = set()
    for _ in SEEDS:
        write(folder / "a", b"", is_synced=True)
        sync(folder)
        os.rename(folder / "a", folder / "b")
        disk.cut_power("some")
        seen.add(tuple(names(folder)))
        (folder / "b").unlink(missing_ok=True)
    assert seen == {("a",), ("b",)}
    write(folder / "a", b"", is_synced=True)
    os.rename(folder / "a", folder / "b")
    sync(folder)
    disk.cut_power("nothing")
    assert names(folder) == {"b"}


def test_some_of_what_was_not_synced_survives(disk: LossyDisk, folder: Path) -> None:
    left = set()
    for number in SEEDS:
        path = folder / str(number)
        write(path, b"", is_synced=True)
        sync(folder)
        write(path, b"abcdefgh")
        disk.cut_power("some")
        left.add(path.read_bytes())
    assert left <= {b"abcdefgh"[:size] for size in range(9)}
    assert len(left) > 2


def test_what_is_written_to_a_mapped_file_is_safe_once_it_is_synced(disk: LossyDisk, folder: Path) -> None:
    write(folder / "a", bytes(8192), is_synced=True)
    sync(folder)
    descriptor = os.open(folder / "a", os.O_RDWR)
    with mmap.mmap(descriptor, 8192) as mapped:
        mapped[:4] = b"kept"
        mapped.flush()
        mapped[4096:4100] = b"lost"
        disk.cut_power("nothing")
    with suppress(OSError):  # it is of the mount that is gone
        os.close(descriptor)
    assert (folder / "a").read_bytes() == b"kept".ljust(8192, b"\0")


def test_a_sync_makes_all_names_safe_where_there_is_a_journal(tmp_path: Path, lossy_disks: None) -> None:
    with LossyDisk(tmp_path, is_journaled=True) as disk:
        (disk.place / "d").mkdir()
        write(disk.place / "d" / "b", b"lost")
        write(disk.place / "d" / "a", b"kept", is_synced=True)
        disk.cut_power("nothing")
        assert {name: (disk.place / "d" / name).read_bytes() for name in names(disk.place / "d")} == {
            "a": b"kept",
            "b": b"",
        }


def test_nothing_is_written_from_the_moment_on_at_which_it_stands_still(disk: LossyDisk, folder: Path) -> None:
    command = [sys.executable, "-c", WRITES_FOR_EVER, str(folder / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        disk.stand_still_after(7)
        assert disk.is_standing(PATIENCE_S)
        process.send_signal(signal.SIGKILL)
        disk.cut_power("everything")
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
    assert set((folder / "a").read_bytes()) == set(b"x")


def test_it_need_not_stand_still_after_all(disk: LossyDisk, folder: Path) -> None:
    disk.stand_still_after(2)
    disk.go_on()
    write(folder / "a", b"written", is_synced=True)
    assert not disk.is_standing(0)


def test_open_files_and_locks_do_not_outlive_a_cut(disk: LossyDisk, folder: Path) -> None:
    write(folder / "a", b"x", is_synced=True)
    sync(folder)
    old = os.open(folder / "a", os.O_RDWR)
    fcntl.flock(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
    disk.cut_power("nothing")
    with pytest.raises(OSError, match="not connected"):
        os.write(old, b"y")
    with (folder / "a").open("r+b") as new:
        fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with suppress(OSError):  # its disk is gone
        os.close(old)
    assert (folder / "a").read_bytes() == b"x"


def test_it_does_what_another_file_system_does(folder: Path, tmp_path: Path) -> None:
    told = [_life(place, random.Random(7)) for place in (folder, tmp_path)]
    assert told[0] == told[1]
    assert len({line for line in told[0] if isinstance(line, str)}) > 3, "there are errors, too"


def _life(place: Path, dice: random.Random) -> list[object]:
    """What comes of some hundred calls, and what is there then."""
    told: list[object] = []
    for _ in range(600):
        try:
            told.append(_step(place, dice))
        except OSError as problem:
            told.append(type(problem).__name__)
    for at, folders, files in os.walk(place):
        folders.sort()
        told.append((os.path.relpath(at, place), list(folders)))
        told += [(name, (Path(at) / name).read_bytes()) for name in sorted(files)]
    return told


def _step(place: Path, dice: random.Random) -> object:
    folder = place / dice.choice(["", "d", "e"])
    path, other = (folder / dice.choice(["a", "b", "d", "e"]) for _ in range(2))
    size = dice.randint(0, 9000)
    match dice.choice(
        ["write", "write", "read", "cut", "mkdir", "rmdir", "rename", "remove", "list", "append", "held"]
    ):
        case "write":
            with path.open("r+b" if path.exists() and size % 2 else "wb") as file:
                file.seek(dice.randint(0, 20_000))
                return file.write(b"%d" % size * 100)
        case "append":
            with path.open("ab") as file:
                return file.write(b"z" * size), file.tell()
        case "read":
            return path.stat().st_size if path.is_file() else path.exists(), path.read_bytes()
        case "cut":
            os.truncate(path, size)
        case "mkdir":
            path.mkdir()
        case "rmdir":
            path.rmdir()
        case "rename":
            return bool(path.replace(other))
        case "remove":
            path.unlink()
        case "held":
            with path.open("r+b") as file:
                path.unlink()
                return file.write(b"held"), file.seek(0), file.read()
        case _:
            return sorted(each.name for each in folder.iterdir())
    return None
