"""The file that keeps where partitions are, beside the catalogue."""

import pytest

from barnabas.broker.cluster.kept import FILE_NAME, NOTHING, Kept, NodesFileError, read, write
from barnabas.broker.cluster.placement import Placement
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from tests.support.files.memory_files import MemoryFiles

KEPT = Kept((1, 2), frozenset({2}), {"id": [Placement((2, 1), (1,), 1), Placement((2,), (2,), -1)]})


@pytest.fixture
def root() -> Directory:
    files = MemoryFiles(0)
    files.mkdir("/data")
    return Directory(Disk(files, "/data"), "/data")


def test_what_is_written_is_read(root: Directory) -> None:
    assert read(root) == NOTHING
    write(root, KEPT, {"id": "t"})
    assert read(root) == KEPT
    assert root.read(FILE_NAME) == (
        b'{"version":1,"nodes":[1,2],"stopped":[2],"topics":'
        b'{"id":{"name":"t","partitions":[[[2,1],[1],1],[[2],[2],-1]]}}}\n'
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "Expecting"),
        (b"[]", "list indices"),
        (b'{"version":2}', "it is of version 2, and this is 1"),
        (b'{"version":1,"nodes":[1],"stopped":[],"topics":{"id":{"partitions":[[[1],[2],1]]}}}', "no partition can"),
        (b'{"version":1,"nodes":[1],"stopped":[]}', "topics"),
    ],
)
def test_damage_is_told_with_the_path_and_what_to_do(root: Directory, content: bytes, says: str) -> None:
    root.write_atomically(FILE_NAME, content)
    with pytest.raises(NodesFileError, match=rf"/data/{FILE_NAME}: .*{says}.*once the file is removed"):
        read(root)
