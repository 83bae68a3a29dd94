"""What a helper process does by itself: it starts with little, ends with its stdin, and keeps to its directory."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.runtime.workers.helper import command, start
from barnabas.broker.runtime.workers.messages import (
    Failed,
    JobAssignment,
    JobDone,
    JobProgress,
    Messages,
    Ready,
    encode,
)
from barnabas.broker.runtime.workers.own_directory import OwnDirectory
from barnabas.broker.runtime.workers.process import JobThrottle, go_through, listen
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import CorruptFile, LockedError, StorageError
from tests.support import waiting
from tests.support.jobs import Count, Fail, Hold

_IMPORTED = """
import barnabas.broker.runtime.workers.process, sys
print(*sorted(name for name in sys.modules if name.startswith("barnabas.") or name in ("asyncio", "logging")))
"""


def test_a_process_imports_no_event_loop_and_of_ours_only_what_it_needs() -> None:
    ran = subprocess.run([sys.executable, "-c", _IMPORTED], capture_output=True, text=True, check=True)
    packages = "barnabas.broker", "barnabas.broker.runtime"
    allowed = ("barnabas.broker.runtime.workers", "barnabas.form", "barnabas.protocol", "barnabas.storage")
    others = [name for name in ran.stdout.split() if name not in packages and not name.startswith(allowed)]
    assert others == []


def test_a_process_ends_with_its_stdin_whatever_it_is_at(tmp_path: Path) -> None:
    process = start(command())
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout:
        process.stdin.write(encode(JobAssignment(Hold(str(tmp_path)))))
        waiting.until((tmp_path / "begun").exists)
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_process_leaves_the_stop_of_a_service_to_its_broker(tmp_path: Path) -> None:
    process = start(command())
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        messages = Messages()
        assert list(messages.feed(process.stdout.read(1000))) == [Ready()]
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.stdin.write(encode(JobAssignment(Count(str(tmp_path)))))
        answer: list[Any] = []
        while not answer or answer[-1] == JobProgress(30):
            answer += messages.feed(process.stdout.read(1000))
        assert answer == [JobProgress(30), JobDone((3, process.pid))]
        process.stdin.close()
        assert process.wait(30) == 0


def test_two_jobs_in_one_directory_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    process = start(command())
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        own = OwnDirectory(str(tmp_path))
        messages = Messages()
        assert list(messages.feed(process.stdout.read(1000))) == [Ready()]
        process.stdin.write(encode(JobAssignment(Hold(str(tmp_path)))))
        waiting.until(lambda: _is_waiting_for_a_lock(process.pid))
        assert os.listdir(tmp_path) == []
        own.leave()
        waiting.until((tmp_path / "begun").exists)
        process.stdin.close()
        process.wait(30)


def _is_waiting_for_a_lock(pid: int) -> bool:
    return any("->" in line and f" {pid} " in line for line in Path("/proc/locks").read_text().splitlines())


def test_messages_come_whole_out_of_any_pieces() -> None:
    sent: list[Any] = [Ready(), JobProgress(3), JobDone([1, "two"])]
    data = b"".join(map(encode, sent))
    for size in (1, 3, len(data)):
        messages = Messages()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert [message for piece in pieces for message in messages.feed(piece)] == sent


@pytest.mark.parametrize("error", [StorageError("/a", "no room", 28), CorruptFile("/b", "bad"), LockedError("/c", 7)])
def test_an_error_keeps_its_class_its_text_and_its_fields(error: StorageError) -> None:
    (failed,) = Messages().feed(encode(Failed.of(error)))
    found = failed.error()
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.__dict__ == error.__dict__


def test_an_error_that_cannot_be_sent_is_reported_by_its_text() -> None:
    error = ValueError("bad", lambda: None)
    (failed,) = Messages().feed(encode(Failed.of(error)))
    assert "ValueError" in str(failed.error())


def test_the_end_of_stdin_is_the_end() -> None:
    put: list[JobAssignment] = []
    ended: list[int] = []
    sent = JobAssignment(Count("/x"))
    listen(io.BytesIO(encode(sent)), put.append, ended.append)
    assert (put, ended) == ([sent], [0])


def test_a_rate_is_kept_by_sleeping() -> None:
    pace = JobThrottle(100, 10.0)
    assert pace.sleep_s(50, 10.0) == 0.5
    assert pace.sleep_s(50, 10.5) == 0
    assert JobThrottle(0, 10.0).sleep_s(1 << 30, 10.0) == 0


@pytest.mark.parametrize(
    ("steps", "rate", "slept_s", "progress"),
    [(3, 100, 0.3, [20, 30, 30]), (1, 2, 5, [10] * 5)],
    ids=["short sleeps", "heartbeats in a long one"],
)
def test_the_steps_are_gone_through_with_progress_and_sleep(
    tmp_path: Path, steps: int, rate: int, slept_s: float, progress: list[int]
) -> None:
    now = [0.0]
    told: list[Any] = []

    def sleep(seconds: float) -> None:
        now[0] += seconds

    result = go_through(Count(str(tmp_path), steps), RealFiles(), rate, told.append, lambda: now[0], sleep)
    assert result == (steps, os.getpid())
    assert now == [pytest.approx(slept_s)]
    assert told == [JobProgress(each) for each in progress]


def test_an_exception_of_a_call_reaches_the_steps(tmp_path: Path) -> None:
    job = Fail(str(tmp_path), in_call=True)
    assert go_through(job, RealFiles(), 0, lambda _: None) == "cannot write: no room"


def test_a_path_outside_the_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = OwnDirectory(str(tmp_path))
    try:
        for path in ("/etc/passwd", f"{tmp_path}/../x", f"{tmp_path}x/y"):
            with pytest.raises(AssertionError, match="is not below"):
                own.stat(path)
    finally:
        own.leave()


def test_every_call_reaches_the_directory_under_its_new_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "t-0")
    os.mkdir(path)
    own = OwnDirectory(path)
    try:
        os.rename(path, tmp_path / "renamed")
        file = own.open(f"{path}/a", create=True)
        file.pwrite(b"abc", 0)
        file.close()
        own.rename(f"{path}/a", f"{path}/b")
        own.mkdir(f"{path}/d")
        own.sync_directory(path)
        assert own.stat(f"{path}/b").size == 3
        assert sorted(entry.name for entry in own.entries(path)) == ["b", "d"]
        own.rmdir(f"{path}/d")
        own.remove(f"{path}/b")
        assert own.volume(path).total_bytes > 0
        assert own.common_sync(path) is None
        assert os.listdir(tmp_path / "renamed") == []
    finally:
        own.leave()
