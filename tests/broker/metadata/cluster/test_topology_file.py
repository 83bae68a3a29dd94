"""The file that keeps where partitions are, beside the catalogue."""

from collections.abc import Iterator

import pytest

from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.broker.metadata.cluster.topology_file import (
    FILE_NAME,
    NOTHING,
    NodesFile,
    NodesFileError,
    PlacedTopic,
    TopologyContent,
    read,
)
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from tests.support.files.memory_files import MemoryFiles

ID, TEXT = bytes(range(16)), "AAECAwQFBgcICQoLDA0ODw"
PLACEMENTS = [Placement((2, 1), (1,), 1), Placement((2,), (2,), -1)]


class Counted(list[Placement]):
    """Placements that know how often they were looked at."""

    times = 0

    def __iter__(self) -> Iterator[Placement]:
        self.times += 1
        return super().__iter__()


@pytest.fixture
def root() -> Directory:
    files = MemoryFiles(0)
    files.mkdir("/data")
    return Directory(Disk(files, "/data"), "/data")


def test_written_values_are_read(root: Directory) -> None:
    assert read(root) == NOTHING
    NodesFile(root, (1, 2)).write({2}, [PlacedTopic(ID, "t", PLACEMENTS)])
    assert read(root) == TopologyContent((1, 2), frozenset({2}), {TEXT: PLACEMENTS})
    assert root.read(FILE_NAME) == (
        b'{"version":1,"nodes":[1,2],"stopped":[2],"topics":'
        b'{"%b":{"name":"t","partitions":[[[2,1],[1],1],[[2],[2],-1]]}}}\n' % TEXT.encode()
    )


def test_a_write_encodes_what_has_changed_and_nothing_else(root: Directory) -> None:
    file, topics = NodesFile(root, (1, 2)), [Counted(PLACEMENTS) for _ in range(3)]
    file.note(PlacedTopic(ID, "noted", topics[0]))
    file.write((), [PlacedTopic(bytes(16), "changed", topics[1])])
    file.write({2}, [PlacedTopic(b"x" * 16, "later", topics[2])])
    assert [each.times for each in topics] == [1, 1, 1]
    assert file.is_current({2})
    assert list(read(root).topics.values()) == [PLACEMENTS] * 3
    file.forget(ID)
    assert not file.is_current({2})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "Expecting"),
        (b"[]", "list indices"),
        (b'{"version":2}', "it has version 2, but this broker reads version 1"),
        (b'{"version":1,"nodes":[1],"stopped":[],"topics":{"id":{"partitions":[[[1],[2],1]]}}}', "no partition can"),
        (b'{"version":1,"nodes":[1],"stopped":[]}', "topics"),
    ],
)
def test_damage_is_reported_with_the_path_and_what_to_do(root: Directory, content: bytes, says: str) -> None:
    root.write_atomically(FILE_NAME, content)
    with pytest.raises(NodesFileError, match=rf"/data/{FILE_NAME}: .*{says}.*: remove it, and the"):
        read(root)
