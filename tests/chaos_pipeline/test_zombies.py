"""A driver is frozen at every named point, another one does its work, and then the frozen one thaws."""

from __future__ import annotations

from pathlib import Path

from tests.support.chaos.driver import Driver
from tests.support.chaos.gate import Gate
from tests.support.chaos.pipelines import new_pipeline
from tests.support.server import Server

# Where in its second batch a stream stands still; those of the opening, which is at the first task, in its first.
POINTS = {
    "before-take": 0,
    "after-take": 0,
    "amid-register": 0,
    "after-register": 0,
    "prepared": 1,
    "begin": 1,
    "before-decision": 1,
    "amid-decision": 1,
    "after-decision": 1,
    "amid-ends": 1,
    "after-ends": 1,
    "after-sweep": 1,
}
OVERTAKEN = (
    "another run took over the sink",
    "Multiple streaming jobs detected",  # Spark's own, when it notes the batch in the checkpoint
)


def test_a_driver_that_thaws_after_another_one_went_on_changes_nothing(
    server: Server, gate: Gate, tmp_path: Path
) -> None:
    pipelines = {point: new_pipeline(server.address, gate, point, tmp_path) for point in POINTS}
    streams = [each.stream for each in pipelines.values()]
    held = [gate.hold(point, point, batch=batch) for point, batch in POINTS.items()]
    with Driver(streams, tmp_path / "one", master="local[16]") as frozen:
        for each in held:
            each.wait()
        frozen.freeze()
        with Driver(streams, tmp_path / "two") as second:
            second.wait()
            for pipeline in pipelines.values():
                pipeline.check()
        for each in held:
            each.release()
        frozen.thaw()
        frozen.wait()
        told = {point: [each["error"] for each in frozen.events("failed", point)] for point in POINTS}
    for point, errors in told.items():
        assert len(errors) == 1, f"{point}: {errors}"
        assert any(sentence in errors[0] for sentence in OVERTAKEN), f"{point}: {errors}"
    with Driver(streams, tmp_path / "three") as third:
        third.wait()
    for pipeline in pipelines.values():
        pipeline.check()
