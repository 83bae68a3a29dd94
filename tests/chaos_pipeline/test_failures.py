"""commit() raises at every named point, tasks fail, Python workers and executors are killed, checkpoints roll back."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from tests.support.chaos.driver import Driver, parents_of
from tests.support.chaos.gate import Gate
from tests.support.chaos.pipelines import new_pipeline
from tests.support.server import Server

RAISING = (
    "begin",
    "before-decision",
    "amid-decision",
    "after-decision",
    "amid-ends",
    "after-ends",
    "after-sweep",
)
OF_A_TASK = {"after-take": 0, "amid-register": 0, "amid-rows": 1, "prepared": 1}
"""Points of a task, each with the batch that it fails in."""


def test_a_commit_that_raises_and_tasks_that_die_lose_and_repeat_nothing(
    server: Server, gate: Gate, tmp_path: Path
) -> None:
    names = [*(f"raise-{point}" for point in RAISING), *(f"die-{point}" for point in OF_A_TASK)]
    pipelines = {name: new_pipeline(server.address, gate, name, tmp_path, restarts=1) for name in names}
    orders = [gate.order(f"raise-{point}", point, "raise", batch=1) for point in RAISING]
    orders += [gate.order(f"die-{point}", point, "exit", batch=batch) for point, batch in OF_A_TASK.items()]
    with Driver([each.stream for each in pipelines.values()], tmp_path / "one", master="local[4,4]") as driver:
        driver.wait()
        for order in orders:
            order.wait()  # it came to that
        failed = {each["stream"] for each in driver.events("failed")}
    assert failed == {f"raise-{point}" for point in RAISING}  # a task is tried again, a commit is not
    for pipeline in pipelines.values():
        pipeline.check()


def test_a_task_whose_executor_is_killed_is_done_by_another(server: Server, gate: Gate, tmp_path: Path) -> None:
    points = ("amid-rows", "prepared")
    pipelines = [new_pipeline(server.address, gate, point, tmp_path, restarts=2) for point in points]
    held = [gate.hold(point, point, batch=1) for point in points]
    streams = [each.stream for each in pipelines]
    with Driver(streams, tmp_path / "one", master="local-cluster[2,1,1024]") as driver:
        for each in held:
            executors = set(driver.executors())
            [executor] = [pid for pid in parents_of(each.wait().pid) if pid in executors]
            os.kill(executor, signal.SIGKILL)
        driver.wait()
    for pipeline in pipelines:
        pipeline.check()


def test_a_checkpoint_rolled_back_repeats_nothing_or_is_refused(server: Server, gate: Gate, tmp_path: Path) -> None:
    same = new_pipeline(server.address, gate, "same", tmp_path)
    other = new_pipeline(server.address, gate, "other", tmp_path)
    with Driver([same.stream, other.stream], tmp_path / "one") as driver:
        driver.wait()
    for pipeline in (same, other):
        pipeline.check()
        _roll_back(Path(pipeline.stream.checkpoint), to=0)
    other.stream.rows_per_batch += 10
    with Driver([same.stream, other.stream], tmp_path / "two") as driver:
        driver.wait()
        [refusal] = driver.events("failed")
    assert refusal["stream"] == "other"
    assert "the checkpoint was rolled back or copied. Nothing was written" in refusal["error"]
    for pipeline in (same, other):
        pipeline.check()


def _roll_back(checkpoint: Path, *, to: int) -> None:
    """As if the checkpoint had been restored from a copy of the time when batch `to` was its last."""
    for log in ("offsets", "commits"):
        for file in (checkpoint / log).iterdir():
            batch = file.name.strip(".").removesuffix(".crc")
            if batch.isdigit() and int(batch) > to:
                file.unlink()
    shutil.rmtree(checkpoint / "state", ignore_errors=True)
