"""At every named point of opening, writing and committing: the JVM is killed, commit() raises, a worker dies."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.chaos.driver import Driver, parents_of
from tests.support.chaos.gate import Gate
from tests.support.chaos.pipelines import new_pipeline
from tests.support.processes.server import Server

OF_A_COMMIT = (
    *("begin", "before-decision", "amid-decision", "after-decision", "amid-ends", "after-ends", "after-sweep"),
)
OF_A_TASK = {"after-take": 0, "amid-register": 0, "amid-rows": 1, "prepared": 1}
"""Points of a task, each with the batch that its worker dies in."""
IN_ONE_TRANSACTION = ("begin", "amid-decision", "after-decision")


def test_kills_and_failures_at_any_point_lose_and_repeat_nothing(server: Server, gate: Gate, tmp_path: Path) -> None:
    killed, raising, dying = (
        {point: new_pipeline(server, gate, f"{what}-{point}", tmp_path, restarts=1) for point in points}
        for what, points in (("kill", OF_A_COMMIT), ("raise", OF_A_COMMIT), ("die", OF_A_TASK))
    )
    orders = [gate.order(f"raise-{point}", point, "raise", batch=1) for point in OF_A_COMMIT]
    orders += [gate.order(f"die-{point}", point, "exit", batch=batch) for point, batch in OF_A_TASK.items()]
    held = [gate.hold(f"kill-{point}", point, batch=1) for point in OF_A_COMMIT]
    for point in IN_ONE_TRANSACTION:
        killed[f"atomic {point}"] = new_pipeline(server, gate, f"atomic-{point}", tmp_path, restarts=1, is_atomic=True)
        held.append(gate.hold(f"atomic-{point}", point, batch=1))
    pipelines = [*killed.values(), *raising.values(), *dying.values()]
    with Driver([each.stream for each in pipelines], tmp_path / "one", master="local[4,4]") as driver:
        for each in (*held, *orders):
            each.wait()  # it came to that
        for pipeline in (*raising.values(), *dying.values()):
            driver.wait_for("done", pipeline.stream.name)
        failed = {each["stream"] for each in driver.events("failed")}
        driver.kill_jvm()
    assert failed == {f"raise-{point}" for point in OF_A_COMMIT}  # a task is tried again, a commit is not
    with Driver([each.stream for each in killed.values()], tmp_path / "two") as driver:
        driver.wait()
    for pipeline in pipelines:
        pipeline.check()


@pytest.mark.long
def test_a_task_whose_executor_is_killed_is_done_by_another(server: Server, gate: Gate, tmp_path: Path) -> None:
    points = ("amid-rows", "prepared")
    pipelines = [new_pipeline(server, gate, point, tmp_path, restarts=2) for point in points]
    held = [gate.hold(point, point, batch=1) for point in points]
    streams = [each.stream for each in pipelines]
    with Driver(streams, tmp_path / "one", master="local-cluster[2,1,1024]") as driver:
        for each in held:
            worker = each.wait().pid
            executors = set(driver.executors())
            [executor] = [pid for pid in parents_of(worker) if pid in executors]
            os.kill(executor, signal.SIGKILL)
        driver.wait()
    for pipeline in pipelines:
        pipeline.check()
