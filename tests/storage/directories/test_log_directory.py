"""A data directory from the first start on: whose it is, which partitions it has, and how they are deleted."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.files import meta_properties
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import CorruptFile, LockedError, NotADataDirectory, StorageError
from tests.support.files.log_directories import (
    NODE_ID,
    TOPIC_ID,
    again,
    append,
    checkpoint,
    content,
    delete_due,
    flush,
    kill,
    names_in,
    open_log,
    start,
    started,
)
from tests.support.files.memory_files import MemoryFiles

# --- whose directory it is ---


def test_an_empty_place_becomes_a_data_directory_and_stays_the_same_one(files: MemoryFiles) -> None:
    first = start(files, "/some/where/data")
    assert first.meta.node_id == NODE_ID
    first.close(clean=True)
    assert meta_properties.decode(content(files, "/some/where/data/meta.properties")) == first.meta
    again = start(files, "/some/where/data")
    assert again.meta == first.meta
    assert first.meta.directory_id is not None
    assert uuid_text(first.meta.directory_id) != first.meta.cluster_id


def test_a_relative_path_is_made_where_the_process_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start(RealFiles(), "data").close(clean=True)
    assert (tmp_path / "data" / "meta.properties").exists()


def test_ids_apache_kafka_would_not_take_are_drawn_again() -> None:
    drawn = iter([bytes(16), b"\xfb" * 16, b"\x01" * 16, b"\xf8" + bytes(15), b"\x02" * 16])
    directory = LogDirectory.open("/data", MemoryFiles(), node_id=1, new_id=lambda: next(drawn))
    assert directory.meta.directory_id == b"\x02" * 16
    assert directory.meta.cluster_id == uuid_text(b"\x01" * 16)


def test_a_directory_without_its_id_gets_one() -> None:
    files = MemoryFiles().with_directory("/data")
    files.put("/data/meta.properties", b"#\nversion=1\ncluster.id=abc\nnode.id=1\n")
    directory = start(files)
    assert directory.meta.cluster_id == "abc"
    assert meta_properties.decode(content(files, "/data/meta.properties")) == directory.meta
    assert directory.meta.directory_id is not None


def _with_cluster(files: MemoryFiles, cluster_id: str) -> LogDirectory:
    return LogDirectory.open("/data", files, node_id=NODE_ID, new_id=lambda: os.urandom(16), cluster_id=cluster_id)


def test_a_new_directory_takes_the_given_cluster_id_and_an_old_one_keeps_its_own(files: MemoryFiles) -> None:
    directory = _with_cluster(files, "blue")
    assert (directory.meta.cluster_id, directory.is_new, directory.notices) == ("blue", True, [])
    directory.close(clean=True)
    directory = _with_cluster(files, "red")
    assert (directory.meta.cluster_id, directory.is_new) == ("blue", False)
    assert directory.notices == ["/data belongs to cluster blue; the cluster id red is ignored"]


@pytest.mark.parametrize("was_there", [False, True])
def test_a_start_that_is_given_up_leaves_nothing_where_nothing_was(files: MemoryFiles, was_there: bool) -> None:
    if was_there:
        files.mkdir("/data")
    directory = start(files)
    open_log(directory)
    directory.give_up()
    assert [entry.name for entry in files.entries("/")] == (["data"] if was_there else [])
    assert not was_there or files.entries("/data") == []


def test_a_start_that_is_given_up_leaves_what_was_there(files: MemoryFiles) -> None:
    start(files).close(clean=True)
    again = start(files)
    again.give_up()
    assert start(files).meta == again.meta


def _of_another_node(files: MemoryFiles) -> None:
    start(files, node_id=7).close(clean=True)


def _with_a_foreign_directory(files: MemoryFiles) -> None:
    start(files).close(clean=True)
    files.mkdir("/data/lost+found")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_of_another_node, "belongs to node.id 7, but this is 1"),
        (_with_a_foreign_directory, r"the directory lost\+found in it is not a partition"),
        (
            lambda files: files.with_directory("/data").put("/data/thesis.tex", b""),
            "not empty, and without meta.properties not a data directory: thesis.tex",
        ),
        (lambda files: files.put("/data", b""), "is a file, not a directory"),
        (
            lambda files: files.with_directory("/data").put("/data/meta.properties", b"version=0\nbroker.id=1\n"),
            "meta.properties has version 0, only 1 is supported",
        ),
    ],
)
def test_a_data_directory_of_another_node_is_refused_untouched(
    files: MemoryFiles, prepare: Callable[[MemoryFiles], None], words: str
) -> None:
    prepare(files)
    before = [call for call in files.calls if call.name in ("rename", "remove")]
    with pytest.raises(NotADataDirectory, match=f"^/data: {words}"):
        start(files)
    after = [call for call in files.calls if call.name in ("rename", "remove")]
    assert [call for call in after[len(before) :] if not call.path.endswith(".lock")] == []


def test_no_permission_is_reported_in_a_sentence() -> None:
    files = MemoryFiles().with_directory("/data")
    files.fail("lock", errno.EACCES)
    with pytest.raises(StorageError, match=r"^/data/.lock: cannot lock: Permission denied"):
        start(files)


def test_a_second_process_is_kept_out_with_the_pid_of_the_first(files: MemoryFiles) -> None:
    first = start(files)
    with pytest.raises(LockedError, match=f"^/data: process {os.getpid()} is using this data directory"):
        start(files)
    first.close(clean=True)
    start(files).close(clean=True)
    assert ".lock" not in names_in(files)


def test_a_refused_start_lets_the_lock_go(files: MemoryFiles) -> None:
    _of_another_node(files)
    for _ in range(2):
        with pytest.raises(NotADataDirectory):
            start(files)


# --- partitions ---


def test_a_partition_is_made_once_and_found_again(files: MemoryFiles, directory: LogDirectory) -> None:
    log = open_log(directory)
    assert open_log(directory) is log
    assert content(files, "/data/t-0/partition.metadata") == f"version: 0\ntopic_id: {uuid_text(TOPIC_ID)}\n".encode()
    assert append(log, 3) == 0
    directory = again(directory)
    assert directory.partitions == {("t", 0)}
    assert open_log(directory).log_end_offset == 3


def test_a_directory_of_an_older_topic_of_the_same_name_is_set_aside() -> None:
    """The catalogue deleted the topic and made it again; the process was killed before the directory was renamed."""
    files, directory = started()
    append(open_log(directory), 5)
    checkpoint(directory)
    kill(files)
    directory = start(files)
    log = open_log(directory, topic_id=b"\x07" * 16)
    assert (log.log_end_offset, log.recovery_point) == (0, 0)
    stray = next(name for name in names_in(files) if name.endswith("-stray"))
    assert directory.notices == [f"/data/{stray} is set aside: the catalogue does not know it"]
    assert "00000000000000000000.log" in names_in(files, f"/data/{stray}")
    assert append(log) == 0
    directory.close(clean=True)
    assert start(files).notices == [f"/data/{stray} is left unchanged"]


def test_a_partition_missing_in_the_catalogue_can_be_set_aside(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory))
    directory.set_aside("t", 0)
    directory.set_aside("t", 0)
    assert directory.partitions == frozenset()
    assert len([name for name in names_in(files) if name.endswith("-stray")]) == 1


def test_a_directory_without_its_topic_id_gets_it(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory), 5)
    directory.close(clean=True)
    files.remove("/data/t-0/partition.metadata")
    assert open_log(start(files)).log_end_offset == 5
    assert files.stat("/data/t-0/partition.metadata").size == 44


def test_a_damaged_topic_id_is_no_licence_to_guess(files: MemoryFiles, directory: LogDirectory) -> None:
    open_log(directory)
    directory.close(clean=True)
    file = files.open("/data/t-0/partition.metadata")
    file.truncate(3)
    file.close()
    with pytest.raises(CorruptFile, match=r"partition\.metadata"):
        open_log(start(files))


def test_strays_are_left_alone_and_told_of_and_unfinished_deletions_finished(files: MemoryFiles) -> None:
    start(files).close(clean=True)
    unique = "0123456789abcdef" * 2
    for name in (f"a-0.{unique}-stray", f"b-1.{unique}-future", f"c-2.{unique}-delete", "remote-log-index-cache"):
        files.mkdir(f"/data/{name}")
    files.open(f"/data/c-2.{unique}-delete/x.log", create=True).close()
    directory = start(files)
    assert directory.notices == [f"/data/a-0.{unique}-stray is left unchanged"]
    assert directory.partitions == frozenset()
    assert delete_due(directory, 0) is None
    assert f"c-2.{unique}-delete" not in names_in(files)
    assert {f"a-0.{unique}-stray", f"b-1.{unique}-future"} < names_in(files)


# --- deleting a partition ---


def test_a_deleted_partition_is_out_of_sight_now_and_gone_later(files: MemoryFiles, directory: LogDirectory) -> None:
    log = open_log(directory)
    append(log)
    held = log.read(0, 1 << 20, committed=False, force_first_batch=True)
    checkpoint(directory)
    directory.delete_log("t", 0, bytes(range(16)), due_ms=5_000)
    directory.delete_log("t", 0, bytes(range(16)), due_ms=5_000)
    gone = f"t-0.{bytes(range(16)).hex()}-delete"
    assert gone in names_in(files)
    assert directory.partitions == frozenset()
    assert len(held.read_all()) > 0, "a fetch under way is finished"
    checkpoint(directory)
    assert content(files, "/data/recovery-point-offset-checkpoint") == b"0\n0\n"
    assert delete_due(directory, 4_999) == 5_000
    assert delete_due(directory, 5_000) is None
    assert gone not in names_in(files)


def test_a_partition_that_was_never_opened_can_be_deleted(files: MemoryFiles, directory: LogDirectory) -> None:
    append(open_log(directory))
    directory = again(directory)
    directory.delete_log("t", 0, bytes(16), due_ms=0)
    delete_due(directory, 0)
    assert not {name for name in names_in(files) if name.startswith("t-0")}


def test_a_new_topic_of_an_old_name_starts_from_nothing_even_after_a_power_cut() -> None:
    for seed in range(20):
        files, directory = started(seed)
        log = open_log(directory)
        append(log, 50)
        flush(log)
        checkpoint(directory)
        directory.delete_log("t", 0, bytes(16), due_ms=10**9)
        log = open_log(directory, topic_id=b"\x07" * 16)
        append(log, 3)
        flush(log)
        append(log, 4)
        files.crash("some", torn=True)
        log = open_log(start(files), topic_id=b"\x07" * 16)
        assert log.log_end_offset in (3, 7)
        assert log.recovery_point <= 3, "the old rows are gone"


def test_rows_of_a_partition_that_is_gone_do_not_speak_for_a_new_one() -> None:
    """Killed after the directory was renamed and before the checkpoints were written."""
    files, directory = started()
    append(open_log(directory), 50)
    flush(open_log(directory))
    checkpoint(directory)
    directory.delete_log("t", 0, bytes(16), due_ms=10**9)
    kill(files)
    append(open_log(start(files), topic_id=b"\x07" * 16), 3)
    kill(files)
    assert content(files, "/data/recovery-point-offset-checkpoint") == b"0\n0\n"
    log = open_log(start(files), topic_id=b"\x07" * 16)
    assert (log.log_end_offset, log.recovery_point) == (3, 0)


# --- sizes ---


def test_a_partitions_size_is_that_of_its_segments_whether_it_is_open_or_not() -> None:
    files, directory = started()
    log = open_log(directory)
    append(log, 3)
    on_disk = len(content(files, "/data/t-0/00000000000000000000.log"))
    assert directory.resting.size_of("t", 0) == on_disk > 0
    directory.close(clean=True)
    again = start(files)
    assert (again.resting.size_of("t", 0), again.resting.size_of("t", 1), dict(again.logs)) == (on_disk, 0, {})


def test_an_offline_directory_has_no_sizes_to_tell() -> None:
    directory = start(MemoryFiles())
    directory.root.disk.go_offline("a sync failed")
    with pytest.raises(StorageError):
        directory.resting.size_of("t", 0)
    with pytest.raises(StorageError):
        directory.volume()
