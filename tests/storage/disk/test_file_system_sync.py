"""One call that syncs many files: where there is one, what it does, and how it fails."""

import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from barnabas.storage.disk.file_system_sync import FileSystemSync, kernel_has_it
from barnabas.storage.disk.files import RealFiles, detect_capabilities
from tests.support.files.memory_files import MemoryFiles
from tests.support.source_tree import ROOT

MEMORY = Path("/dev/shm")


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder of the checkout's file system: that of a test may be in memory."""
    cache = ROOT / ".cache"
    cache.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=cache) as folder:
        yield Path(folder)


@pytest.fixture
def common_sync(on_disk: Path) -> Iterator[FileSystemSync]:
    if not detect_capabilities().common_sync:
        pytest.skip("no such call on this system")
    opened = FileSystemSync(str(on_disk))
    if not opened.is_usable():
        opened.close()
        pytest.skip("not on this file system")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("release", "expected"),
    [("5.16.20", False), ("5.17.0-rc3", True), ("6.1", True), ("4.19.112+", False), ("10.0.1", True), ("odd", False)],
)
def test_a_kernel_that_hides_failures_is_too_old(release: str, expected: bool) -> None:
    assert kernel_has_it(release) is expected


def test_a_system_without_the_call_offers_none(tmp_path: Path) -> None:
    assert RealFiles(detect_capabilities()._replace(common_sync=False)).common_sync(str(tmp_path)) is None


class Refusing:
    """A C library under a sandbox that does not let the call through."""

    def syncfs(self, descriptor: int) -> int:
        ctypes.set_errno(errno.EPERM)
        return -1

    def fstatfs(self, descriptor: int, found: object) -> int:
        raise AssertionError("not asked for")


def test_a_call_that_the_sandbox_forbids_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Refusing())
    opened = FileSystemSync(str(tmp_path))
    assert not opened.is_usable()
    opened.close()


def test_files_and_directories_are_synced_and_what_is_gone_needs_nothing(
    common_sync: FileSystemSync, on_disk: Path
) -> None:
    file = RealFiles().open(str(on_disk / "a"), create=True)
    file.pwrite(b"x", 0)
    common_sync.sync([file], [str(on_disk), str(on_disk / "gone")])
    file.close()


@pytest.mark.skipif(not MEMORY.is_dir(), reason="no file system in memory")
def test_a_directory_that_is_a_link_to_another_file_system_is_not_covered(
    common_sync: FileSystemSync, on_disk: Path
) -> None:
    (on_disk / "link").symlink_to(MEMORY)
    (on_disk / "plain").mkdir()
    assert common_sync.covers(str(on_disk / "plain"))
    assert not common_sync.covers(str(on_disk / "link"))
    assert not common_sync.covers(str(on_disk / "gone"))


def test_a_failure_is_the_systems(common_sync: FileSystemSync, on_disk: Path) -> None:
    file = RealFiles().open(str(on_disk / "a"), create=True)
    kept = os.dup(common_sync._descriptor)
    os.close(common_sync._descriptor)
    with pytest.raises(OSError, match="Bad file") as failed:
        common_sync.sync([file], [])
    os.dup2(kept, common_sync._descriptor)
    os.close(kept)
    file.close()
    assert failed.value.errno == errno.EBADF


@pytest.mark.skipif(not MEMORY.is_dir(), reason="no file system in memory")
def test_a_file_system_that_was_not_looked_into_is_synced_file_by_file() -> None:
    common_sync = FileSystemSync(str(MEMORY))
    assert not common_sync.is_usable()
    common_sync.close()


def test_a_start_does_not_pay_for_it(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from barnabas.storage.disk.files import RealFiles\n"
        "from barnabas.storage.directories.log_directory import LogDirectory\n"
        "LogDirectory.open(sys.argv[1], RealFiles(), node_id=1, new_id=lambda: os.urandom(16)).close(clean=True)\n"
        "assert 'ctypes' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "d")], check=True, cwd=Path(__file__).parents[3])


def test_in_memory_only_what_is_named_becomes_durable() -> None:
    files = MemoryFiles()
    for folder in ("/d", "/e"):
        files.mkdir(folder)
    files.sync_directory("/")
    opened = {path: files.open(path, create=True) for path in ("/d/a", "/d/b", "/d/c", "/e/a")}
    for file in opened.values():
        file.pwrite(b"x", 0)
    files.sync_directory("/e")
    files.common_sync("/").sync([opened["/d/a"]], ["/d/b", "/d", "/d/gone"])
    files.crash("nothing")
    assert {path: files.peek(path) for path in opened} == {"/d/a": b"x", "/d/b": b"x", "/d/c": b"", "/e/a": b""}
