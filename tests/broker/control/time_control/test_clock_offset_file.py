"""The file that says how far ahead the clock is."""

import pytest

from barnabas.broker.control.time_control import clock_offset_file
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.errors import StorageError
from tests.support.files.memory_files import MemoryFiles


@pytest.fixture
def root() -> Directory:
    files = MemoryFiles(0)
    files.mkdir("/d")
    return Directory(Disk(files, "/d"), "/d")


def test_written_offsets_are_read_and_an_empty_file_is_no_offset(root: Directory) -> None:
    assert clock_offset_file.read(root) == 0
    clock_offset_file.write(root, 604_800_000)
    assert clock_offset_file.read(root) == 604_800_000
    assert root.read("barnabas-clock-ahead") == b"604800000\n"
    clock_offset_file.write(root, -5)
    assert not root.exists("barnabas-clock-ahead")
    clock_offset_file.write(root, 0)


@pytest.mark.parametrize("data", [b"", b"\n", b"-5\n", b"soon", b"1.5", b"\xff", b"9" * 16, "５".encode()])
def test_an_invalid_file_is_reported_with_its_path(root: Directory, data: bytes) -> None:
    root.write_atomically("barnabas-clock-ahead", data)
    with pytest.raises(StorageError, match=r"^/d/barnabas-clock-ahead: this is not the distance"):
        clock_offset_file.read(root)
