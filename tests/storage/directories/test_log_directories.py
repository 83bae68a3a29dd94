"""Several data directories: what a start makes of those it finds, and that one fails without the others."""

import errno
from collections.abc import Callable

import pytest

from barnabas.storage.directories.log_directories import LogDirectories
from barnabas.storage.errors import DirectoryOffline, LockedError, NotADataDirectory, StorageError
from barnabas.storage.recovery.opening import open_at_once
from tests.support.files.log_directories import (
    CONFIG,
    MARKER,
    NODE_ID,
    TOPIC_ID,
    append,
    content,
    ids,
    kill,
    names_in,
    offsets,
    start,
)
from tests.support.files.memory_files import MemoryFiles

PATHS = ("/one", "/two")


def start_all(
    files: MemoryFiles,
    paths: tuple[str, ...] = PATHS,
    *,
    metadata: str | None = None,
    cluster_id: str | None = None,
    new_id: Callable[[], bytes] | None = None,
) -> LogDirectories:
    return LogDirectories.open(
        paths, files, node_id=NODE_ID, new_id=new_id or ids(), metadata_path=metadata, cluster_id=cluster_id
    )


def put(directories: LogDirectories, partition: int, member: int) -> None:
    """One batch in a partition of the directory with that number."""
    place = directories.members[member].directory_id
    opening = directories.opening("t", partition, TOPIC_ID, CONFIG, 1_000, place)
    append(open_at_once(opening))


def filled() -> MemoryFiles:
    """Two directories that were stopped cleanly, with partition 0 in the first and 1 in the second."""
    files = MemoryFiles(0)
    directories = start_all(files)
    put(directories, 0, 0)
    put(directories, 1, 1)
    directories.close(clean=True)
    return files


def test_each_has_its_own_owner_checkpoints_and_marker() -> None:
    files = filled()
    for path, row in (("/one", {("t", 0): 1}), ("/two", {("t", 1): 1})):
        assert names_in(files, path) >= {"meta.properties", MARKER, "recovery-point-offset-checkpoint"}
        assert offsets(files, f"{path}/recovery-point-offset-checkpoint") == row
    again = start_all(files)
    assert (again.was_clean, again.notices) == (True, [])
    assert [each.partitions for each in again.members] == [{("t", 0)}, {("t", 1)}]
    assert len({each.directory_id for each in again.members}) == 2
    assert len({each.meta.cluster_id for each in again.members}) == 1


def test_one_directory_is_as_it_is_alone() -> None:
    alone, among = MemoryFiles(0), MemoryFiles(0)
    start(alone, "/data").close(clean=True)
    directories = start_all(among, ("/data",))
    assert directories.is_one
    directories.close(clean=True)
    assert alone.calls == among.calls
    assert all(content(alone, f"/data/{name}") == content(among, f"/data/{name}") for name in names_in(alone))


def test_a_directory_that_is_added_joins_the_cluster() -> None:
    files = filled()
    with_third = start_all(files, (*PATHS, "/three"), cluster_id="another")
    assert [each.meta.cluster_id for each in with_third.members].count(with_third.meta.cluster_id) == 3
    assert with_third.notices == [
        f"/one belongs to cluster {with_third.meta.cluster_id}; the cluster id another is ignored"
    ]


def test_an_empty_directory_before_the_others_joins_them_but_the_metadata_log_is_missed_there() -> None:
    files = filled()
    files.mkdir("/one/__cluster_metadata-0")
    with pytest.raises(NotADataDirectory, match="/one: contains the metadata log, which is expected in /zero"):
        start_all(files, ("/zero", *PATHS))
    assert MARKER in names_in(files, "/one"), "a start that is refused changes nothing"
    assert not start_all(files).notices


def test_a_partition_of_a_directory_that_is_missing_is_offline() -> None:
    files = filled()
    second = start_all(files).members[1].directory_id
    kill(files)
    one = start_all(files, ("/one",))
    with pytest.raises(DirectoryOffline, match=r"t-1: its data directory, with directory.id .* is missing"):
        one.place("t", 1, second)
    assert one.place("t", 0, second).path == "/one", "where it lies counts"


def test_directories_of_two_clusters_are_refused() -> None:
    files = filled()
    start(files, "/foreign").close(clean=True)
    stopped = {path: names_in(files, path) for path in (*PATHS, "/foreign")}
    properties = content(files, "/foreign/meta.properties")
    text = properties.decode().splitlines()
    edited = ["cluster.id=another" if "cluster.id" in line else line for line in text if "crc32c" not in line]
    files.put("/foreign/meta.properties", "\n".join(edited).encode())
    with pytest.raises(NotADataDirectory, match="/foreign: belongs to cluster another, and /one to "):
        start_all(files, (*PATHS, "/foreign"))
    assert {path: names_in(files, path) - {".lock"} for path in stopped} == {
        path: found - {".lock"} for path, found in stopped.items()
    }


def test_a_copy_of_a_directory_is_refused() -> None:
    files = MemoryFiles(0)
    with pytest.raises(NotADataDirectory, match=r"/two: has the directory.id of /one, .*: one is a copy"):
        start_all(files, new_id=lambda: b"\x01" * 16)


def test_a_partition_in_two_directories_is_refused_and_nothing_is_changed() -> None:
    files = filled()
    files.mkdir("/two/t-0")
    with pytest.raises(NotADataDirectory, match="/two: has partition t-0, and so has /one: remove one of the two"):
        start_all(files)
    assert MARKER in names_in(files, "/one") & names_in(files, "/two")
    files.rmdir("/two/t-0")
    assert start_all(files).was_clean


def test_a_directory_of_another_node_is_refused() -> None:
    files = filled()
    start(files, "/other", node_id=7).close(clean=True)
    with pytest.raises(NotADataDirectory, match=r"/other: belongs to node.id 7"):
        start_all(files, (*PATHS, "/other"))


def test_one_that_another_process_uses_is_refused() -> None:
    files = filled()
    used = start(files, "/two")
    with pytest.raises(LockedError, match="/two"):
        start_all(files)
    used.close(clean=True)
    start_all(files)


def test_one_that_cannot_be_read_is_left_out_and_the_metadata_directory_is_not() -> None:
    files = filled()
    files.fail("open", errno.EIO, path="/two/meta.properties")
    directories = start_all(files)
    assert [each.path for each in directories.members] == ["/one"]
    assert (directories.offline_count, directories.offline_reason, directories.is_one) == (1, None, False)
    (notice,) = directories.notices
    assert notice.startswith("/two is offline until restart, with its partitions: /two/meta.properties")
    directories.close(clean=True)
    assert MARKER in names_in(files, "/two"), "nothing was changed in it"
    files.heal()
    files.fail("open", errno.EIO, path="/one/meta.properties")
    with pytest.raises(StorageError, match=r"/one/meta\.properties"):
        start_all(files)


def test_one_that_fails_later_leaves_the_others_at_work() -> None:
    files = filled()
    directories = start_all(files)
    put(directories, 0, 0)
    directories.members[1].root.disk.go_offline("it broke")
    with pytest.raises(DirectoryOffline):
        put(directories, 1, 1)
    put(directories, 2, 0)
    assert directories.usable_ids() == [directories.members[0].directory_id]
    assert (directories.offline_reason, directories.offline_count) == (None, 1)
    checkpoint = directories.begin_checkpoint()
    assert checkpoint is not None
    checkpoint.run()
    directories.end_checkpoint(checkpoint)
    directories.close(clean=True)
    assert (MARKER in names_in(files, "/one"), MARKER in names_in(files, "/two")) == (True, False)


def test_a_checkpoint_that_fails_in_one_is_written_in_the_others() -> None:
    files = filled()
    directories = start_all(files)
    put(directories, 0, 0)
    put(directories, 1, 1)
    files.fail("rename", errno.ENOSPC, path="/one/replication")
    checkpoint = directories.begin_checkpoint()
    assert checkpoint is not None
    with pytest.raises(StorageError, match="/one"):
        checkpoint.run()
    directories.end_checkpoint(checkpoint)
    assert offsets(files, "/two/replication-offset-checkpoint") == {("t", 1): 2}
    assert directories.offline_count == 0


def test_the_metadata_may_have_a_directory_of_its_own() -> None:
    files = MemoryFiles(0)
    directories = start_all(files, metadata="/meta")
    assert directories.root.path == "/meta"
    assert [each.path for each in directories.members] == ["/one", "/two"]
    directories.close(clean=True)
    assert start_all(files, metadata="/meta").was_clean
