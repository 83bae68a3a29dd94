"""The file system of the other tests forgets what a real one may forget, and nothing else."""

import errno
import sys
import threading

import pytest

from barnabas.storage.disk.files import Files
from tests.support.files.memory_files import MemoryFiles, PowerCut
from tests.support.files.memory_survival import SECTOR_BYTES

SEEDS = range(40)


def write(files: Files, path: str, data: bytes, position: int = 0, *, sync: bool = False) -> None:
    file = files.open(path, create=True)
    file.pwrite(data, position)
    if sync:
        file.sync()
    file.close()


def read(files: Files, path: str) -> bytes | None:
    try:
        file = files.open(path)
    except FileNotFoundError:
        return None
    data = file.pread(1 << 20, 0)
    file.close()
    return data


def outcomes(survival: str = "some", **steps: bool) -> set[bytes | None]:
    """What may be left of a file of three writes, by which syncs were made."""
    found = set()
    for seed in SEEDS:
        files = MemoryFiles(seed).with_directory()
        write(files, "/d/a", b"one", 0, sync=steps.get("sync_first", False))
        if steps.get("sync_name"):
            files.sync_directory("/d")
        write(files, "/d/a", b"two", 3)
        write(files, "/d/a", b"three", 6, sync=steps.get("sync_last", False))
        files.crash("nothing" if survival == "nothing" else "some", torn=False)
        found.add(read(files, "/d/a"))
    return found


def test_a_name_that_was_not_synced_may_be_gone_though_its_file_was() -> None:
    assert outcomes("nothing", sync_last=True) == {None}
    assert outcomes(sync_last=True) == {None, b"onetwothree"}


def test_bytes_that_were_not_synced_may_be_gone_though_the_name_was() -> None:
    assert outcomes("nothing", sync_name=True) == {b""}
    assert outcomes("nothing", sync_name=True, sync_first=True) == {b"one"}


def test_a_surviving_file_is_a_prefix_of_the_written_bytes() -> None:
    found = outcomes(sync_name=True, sync_first=True)
    assert found <= {b"onetwothree"[:size] for size in range(3, 12)}
    assert len(found) > 3


def test_synced_bytes_survive() -> None:
    assert outcomes(sync_name=True, sync_last=True) == {b"onetwothree"}


def test_a_rename_survives_in_one_step_or_not_at_all() -> None:
    seen = set()
    for seed in SEEDS:
        files = MemoryFiles(seed).with_directory()
        write(files, "/d/a", b"old", sync=True)
        write(files, "/d/a.tmp", b"new", sync=True)
        files.sync_directory("/d")
        files.rename("/d/a.tmp", "/d/a")
        files.crash()
        seen.add((read(files, "/d/a"), read(files, "/d/a.tmp")))
    assert seen == {(b"old", b"new"), (b"new", None)}


def test_a_removed_file_may_come_back_until_its_directory_is_synced() -> None:
    seen = set()
    for seed in SEEDS:
        files = MemoryFiles(seed).with_directory()
        write(files, "/d/a", b"x", sync=True)
        files.sync_directory("/d")
        files.remove("/d/a")
        if seed % 2:
            files.sync_directory("/d")
        files.crash()
        seen.add((seed % 2, read(files, "/d/a")))
    assert seen == {(0, b"x"), (0, None), (1, None)}


def test_a_directory_that_was_not_synced_goes_with_all_in_it(files: MemoryFiles) -> None:
    files.mkdir("/d/t-0")
    write(files, "/d/t-0/a", b"x", sync=True)
    files.sync_directory("/d/t-0")
    files.crash("nothing")
    assert files.entries("/d") == []


def test_a_truncation_may_be_undone_and_what_was_written_behind_it_too() -> None:
    seen = set()
    for seed in SEEDS:
        files = MemoryFiles(seed).with_directory()
        write(files, "/d/a", b"0123456789", sync=True)
        files.sync_directory("/d")
        file = files.open("/d/a")
        file.truncate(2)
        file.pwrite(b"AB", 2)
        files.crash()
        seen.add(read(files, "/d/a"))
    assert {b"0123456789", b"01", b"01AB"} <= seen <= {b"0123456789", b"01", b"01A", b"01AB"}


def test_torn_sectors_are_zeros_and_never_touch_what_was_safe() -> None:
    torn = 0
    for seed in SEEDS:
        files = MemoryFiles(seed).with_directory()
        write(files, "/d/a", b"s" * 700, sync=True)
        files.sync_directory("/d")
        write(files, "/d/a", b"u" * 4000, 700)
        files.crash(torn=True)
        found = read(files, "/d/a")
        assert found is not None
        assert found[:700] == b"s" * 700
        assert set(found[700:]) <= set(b"u\0")
        torn += b"\0" * (SECTOR_BYTES // 2) in found
    assert torn > 3


def test_a_killed_process_loses_nothing_but_its_locks_and_descriptors(files: MemoryFiles) -> None:
    files.lock("/d/.lock")
    file = files.open("/d/a", create=True)
    file.pwrite(b"x", 0)
    files.crash("everything")
    with pytest.raises(OSError, match="did not survive"):
        file.pwrite(b"y", 0)
    assert read(files, "/d/a") == b"x"
    files.lock("/d/.lock")


def test_a_power_cut_happens_before_the_chosen_change(files: MemoryFiles) -> None:
    files.cut_power_at(files.changes_made + 2)
    file = files.open("/d/a", create=True)
    file.pwrite(b"x", 0)
    assert file.pread(1, 0) == b"x", "reading is no change"
    with pytest.raises(PowerCut, match="sync /d/a"):
        file.sync()
    files.crash("nothing")
    assert files.entries("/d") == []


def test_calls_fail_as_told_and_no_longer(files: MemoryFiles) -> None:
    files.fail("pwrite", errno.EIO, path="/d/a", skip=1, times=2)
    a, b = files.open("/d/a", create=True), files.open("/d/b", create=True)
    results = []
    for file in (a, b, a, a, b, a):
        try:
            file.pwrite(b"x", 0)
            results.append("ok")
        except OSError as error:
            results.append(errno.errorcode[error.errno or 0])
    assert results == ["ok", "ok", "EIO", "EIO", "ok", "ok"]
    with files.failing("any"), pytest.raises(OSError, match="Input/output"):
        files.stat("/d/a")
    assert files.stat("/d/a").size == 1


def test_a_full_disk_takes_what_fits_and_then_nothing() -> None:
    files = MemoryFiles(capacity=10).with_directory()
    file = files.open("/d/a", create=True)
    assert [file.pwrite(b"123456", 0), file.pwrite(b"123456", 6), file.pwrite(b"xy", 3)] == [6, 4, 2]
    with pytest.raises(OSError, match="No space left"):
        file.pwrite(b"x", 10)
    file.truncate(9)
    assert file.pwrite(b"x", 9) == 1


def test_every_call_is_listed_with_its_path(files: MemoryFiles) -> None:
    files.calls.clear()
    write(files, "/d/a", b"x", sync=True)
    files.rename("/d/a", "/d/b")
    assert files.calls == [("create", "/d/a"), ("pwrite", "/d/a"), ("sync", "/d/a"), ("rename", "/d/a")]


def test_one_thread_may_look_while_another_makes_files(files: MemoryFiles) -> None:

    def make() -> None:
        for number in range(2_000):
            write(files, f"/d/{number}", b"x")

    making = threading.Thread(target=make)
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that they meet
    try:
        making.start()
        seen = [files.used()]
        while making.is_alive():
            seen.append(files.used())
        making.join()
    finally:
        sys.setswitchinterval(interval_s)
    assert seen == sorted(seen)
    assert files.used() == 2_000


def test_scattered_changes_survive_whatever_became_of_those_before_and_of_a_write_any_bytes() -> None:
    seen = set()
    for seed in range(400):
        files = MemoryFiles(seed).with_directory()
        write(files, "/d/a", b"safe", sync=True)
        files.sync_directory("/d")
        write(files, "/d/a", b"one", 4)
        write(files, "/d/a", b"two", 7)
        files.crash("scattered")
        found = read(files, "/d/a")
        assert found is not None
        assert found[:4] == b"safe"
        assert all(byte in (0, wanted) for byte, wanted in zip(found, b"safeonetwo", strict=False))
        seen.add(found)
    assert {b"safe", b"safeone", b"safeonetwo", b"safe\0\0\0two", b"safeone\0wo", b"safeo\0etwo", b"safeon"} <= seen


def test_scattered_names_survive_whatever_became_of_those_before() -> None:
    seen = set()
    for seed in range(40):
        files = MemoryFiles(seed).with_directory()
        write(files, "/d/a", b"", sync=True)
        write(files, "/d/b", b"", sync=True)
        files.crash("scattered")
        seen.add(tuple(sorted(files.peek_names("/d"))))
    assert seen == {(), ("a",), ("b",), ("a", "b")}
