"""The data directory is made with its parents, and an error names the directory that cannot be made."""

from pathlib import Path

import pytest

from barnabas.storage.directories.data_root import open_root
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import StorageError


class _Closed(RealFiles):
    """Files of a system that, as Linux in /proc, says that a new directory does not exist."""

    def __init__(self, closed: Path) -> None:
        super().__init__()
        self._closed = str(closed)

    def mkdir(self, path: str) -> None:
        if path.rpartition("/")[0] == self._closed:
            raise FileNotFoundError(2, "No such file or directory", path)
        super().mkdir(path)


@pytest.mark.parametrize("below", ["data", "more/data"])
def test_where_nothing_can_be_made_the_error_names_what_was_to_be_made(tmp_path: Path, below: str) -> None:
    path = tmp_path / below
    with pytest.raises(StorageError) as failed:
        open_root(Disk(_Closed(tmp_path), str(path)))
    assert failed.value.path == str(tmp_path / below.split("/")[0])


def test_missing_parents_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "data"
    open_root(Disk(RealFiles(), str(path)))
    assert path.is_dir()
