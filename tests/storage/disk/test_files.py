"""The real file system and the one in memory answer alike, with every capability on and off."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.storage.disk.files import (
    Capabilities,
    Files,
    LockHeld,
    RealFiles,
    detect_capabilities,
    raise_descriptor_limit,
)
from tests.support.files.memory_files import MemoryFiles

HERE = detect_capabilities()
CHOICES = {
    "all": HERE,
    "seek_and_write": HERE._replace(positional_io=False),
    "fsync": HERE._replace(data_sync=False),
    "no_directory_sync": HERE._replace(directory_sync=False),
    "lock_by_name": HERE._replace(record_lock=False),
    "pid_in_file": HERE._replace(lock_owner=False),
    "read_and_copy": HERE._replace(vectored_io=False),
    "disk_usage": HERE._replace(volume_stat=False),
    "nothing": Capabilities(*[False] * 9),
}
Place = tuple[Files, str]


@pytest.fixture(params=[*CHOICES, "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A file system and an empty directory in it."""
    if request.param == "memory":
        return MemoryFiles().with_directory(), "/d"
    return RealFiles(CHOICES[request.param]), str(tmp_path)


def test_written_bytes_are_read_back_at_their_position(place: Place) -> None:
    files, root = place
    file = files.open(f"{root}/a", create=True)
    assert file.pwrite(b"hello", 0) == 5
    assert file.pwrite(memoryview(bytearray(b"LLO!")), 2) == 4
    assert (file.pread(100, 0), file.pread(2, 4), file.pread(5, 6)) == (b"heLLO!", b"O!", b"")
    buffer = memoryview(bytearray(b"......."))
    assert (file.pread_into(buffer[:3], 1), file.pread_into(buffer[3:], 4), bytes(buffer)) == (3, 2, b"eLLO!..")
    file.truncate(3)
    file.sync()
    assert (file.size(), file.pread(10, 0)) == (3, b"heL")
    file.close()


def test_a_write_behind_the_end_leaves_zeros_between(place: Place) -> None:
    files, root = place
    file = files.open(f"{root}/a", create=True)
    file.pwrite(b"x", 4)
    assert file.pread(9, 0) == b"\0\0\0\0x"
    file.close()


def test_a_volume_has_more_room_than_can_be_used_and_some_of_it(place: Place) -> None:
    files, root = place
    volume = files.volume(root)
    assert volume.total_bytes > volume.usable_bytes > 0 or volume.total_bytes == volume.usable_bytes
    with pytest.raises(FileNotFoundError):
        files.volume(f"{root}/missing")


def test_opening_creates_only_when_asked_and_never_empties(place: Place) -> None:
    files, root = place
    with pytest.raises(FileNotFoundError):
        files.open(f"{root}/a")
    first = files.open(f"{root}/a", create=True)
    first.pwrite(b"kept", 0)
    first.close()
    again = files.open(f"{root}/a", create=True)
    assert again.pread(9, 0) == b"kept"
    again.close()


def test_a_file_opened_for_reading_refuses_to_be_written(place: Place) -> None:
    files, root = place
    files.open(f"{root}/a", create=True).close()
    file = files.open(f"{root}/a", read_only=True)
    with pytest.raises(OSError, match=r"(?i)bad file|reading"):
        file.pwrite(b"x", 0)
    file.close()


def test_directories_list_what_is_in_them(place: Place) -> None:
    files, root = place
    files.mkdir(f"{root}/sub")
    files.open(f"{root}/a", create=True).close()
    assert sorted(files.entries(root)) == [("a", False), ("sub", True)]
    with pytest.raises(FileExistsError):
        files.mkdir(f"{root}/sub")
    with pytest.raises(FileNotFoundError):
        files.entries(f"{root}/none")
    with pytest.raises(NotADirectoryError):
        files.entries(f"{root}/a")


def test_a_rename_replaces_and_an_open_file_follows(place: Place) -> None:
    files, root = place
    for name, content in (("a", b"new"), ("b", b"old")):
        file = files.open(f"{root}/{name}", create=True)
        file.pwrite(content, 0)
        file.close()
    held = files.open(f"{root}/a")
    files.rename(f"{root}/a", f"{root}/b")
    files.sync_directory(root)
    assert [entry.name for entry in files.entries(root)] == ["b"]
    assert held.pread(9, 0) == b"new"
    held.close()
    with pytest.raises(FileNotFoundError):
        files.rename(f"{root}/a", f"{root}/c")


def test_a_directory_is_renamed_with_what_is_in_it(place: Place) -> None:
    files, root = place
    files.mkdir(f"{root}/sub")
    files.open(f"{root}/sub/a", create=True).close()
    files.rename(f"{root}/sub", f"{root}/other")
    assert files.stat(f"{root}/other/a").size == 0


def test_removing_takes_files_and_empty_directories(place: Place) -> None:
    files, root = place
    files.mkdir(f"{root}/sub")
    files.open(f"{root}/sub/a", create=True).close()
    with pytest.raises(OSError, match=r"(?i)not empty") as refused:
        files.rmdir(f"{root}/sub")
    assert refused.value.errno == errno.ENOTEMPTY
    files.remove(f"{root}/sub/a")
    files.rmdir(f"{root}/sub")
    with pytest.raises(FileNotFoundError):
        files.remove(f"{root}/sub/a")
    with pytest.raises(FileNotFoundError):
        files.stat(f"{root}/sub")


def test_stat_tells_size_and_age(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1234")
    os.utime(path, ns=(0, 1_700_000_000_123_000_000))
    assert RealFiles().stat(str(path)) == (4, 1_700_000_000_123)


def test_a_lock_is_held_once_even_within_a_process(place: Place) -> None:
    files, root = place
    lock = files.lock(f"{root}/.lock")
    with pytest.raises(LockHeld) as held:
        files.lock(f"{root}/.lock")
    assert held.value.pid == os.getpid()
    lock.release()
    assert files.entries(root) == []
    files.lock(f"{root}/.lock").release()


HOLDER = """
import sys
from barnabas.storage.disk.files import RealFiles
lock = RealFiles().lock(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("choice", ["all", "pid_in_file", "lock_by_name"])
def test_a_lock_keeps_other_processes_out_and_names_the_holder(choice: str, tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    with _held(HOLDER, path) as holder, pytest.raises(LockHeld) as held:
        RealFiles(CHOICES[choice]).lock(path)
    assert held.value.pid == holder.pid


def test_the_lock_of_a_killed_process_is_free_though_its_file_is_there(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    with _held(HOLDER, path):
        pass
    assert os.path.exists(path)
    RealFiles().lock(path).release()


def test_javas_lock_is_respected(tmp_path: Path) -> None:
    """FileChannel.tryLock() is fcntl(F_SETLK) over the whole file, in a file that stays empty."""
    path = str(tmp_path / ".lock")
    java_like = (
        "import fcntl, os, struct, sys\n"
        "d = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "fcntl.fcntl(d, fcntl.F_SETLK, struct.pack('@hhqqi', fcntl.F_WRLCK, 0, 0, 2**63 - 1, 0))\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with _held(java_like, path) as holder, pytest.raises(LockHeld) as held:
        RealFiles().lock(path)
    assert held.value.pid == holder.pid


def test_raising_the_descriptor_limit_reaches_the_hard_one() -> None:
    code = (
        "import resource\n"
        "from barnabas.storage.disk.files import raise_descriptor_limit\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))\n"
        "assert raise_descriptor_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard, hard\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=_root())
    assert raise_descriptor_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@contextmanager
def _held(code: str, path: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a lock, and is killed in the end."""
    holder = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_root()
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def _root() -> str:
    return str(Path(__file__).resolve().parents[3])
