"""The driver's JVM is killed while streams stand at every named point of opening, writing and committing."""

from __future__ import annotations

from pathlib import Path

from tests.support.chaos.driver import Driver
from tests.support.chaos.gate import Gate
from tests.support.chaos.pipelines import new_pipeline
from tests.support.server import Server

OF_A_COMMIT = (
    "begin",
    "before-decision",
    "amid-decision",
    "after-decision",
    "amid-ends",
    "after-ends",
    "after-sweep",
)


def test_a_driver_killed_at_any_point_of_a_commit_loses_and_repeats_nothing(
    server: Server, gate: Gate, tmp_path: Path
) -> None:
    pipelines = {point: new_pipeline(server.address, gate, point, tmp_path) for point in OF_A_COMMIT}
    streams = [each.stream for each in pipelines.values()]
    held = [gate.hold(point, point, batch=1) for point in OF_A_COMMIT]
    with Driver(streams, tmp_path / "one") as first:
        for each in held:
            each.wait()
        first.kill_jvm()
    with Driver(streams, tmp_path / "two") as second:
        second.wait()
    for each in pipelines.values():
        each.check()
