"""A driver is frozen with a stream at every named point, another one does its work, and then the frozen one thaws.

Two streams more have their checkpoints rolled back behind the back of the ledger: in the same drivers, as a start of
Spark costs seconds.
"""

from pathlib import Path

from tests.support.chaos.driver import Driver
from tests.support.chaos.gate import Gate
from tests.support.chaos.pipelines import new_pipeline
from tests.support.processes.server import Server

# Which batch a stream stands still in; at the points of the opening, which is at a run's first task, in its first.
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
ATOMIC = ("prepared", "amid-decision", "after-decision")
"""Where one stands still, in its second batch, whose tasks write in one transaction."""
ONCE_MORE = ("after-register", "amid-ends", "atomic-amid-decision")
"""Those that are started once more in the end, over what the thawed driver left of the checkpoint."""
OVERTAKEN = (
    "another run took over the sink",
    "Multiple streaming jobs detected",  # Spark's own, when it notes the batch in the checkpoint
)


def test_frozen_drivers_and_rolled_back_checkpoints_lose_and_repeat_nothing(
    server: Server, gate: Gate, tmp_path: Path
) -> None:
    frozen_ones = {point: new_pipeline(server, gate, point, tmp_path) for point in POINTS}
    in_one = {
        f"atomic-{point}": new_pipeline(server, gate, f"atomic-{point}", tmp_path, is_atomic=True) for point in ATOMIC
    }
    same, other = (new_pipeline(server, gate, name, tmp_path) for name in ("same", "other"))
    held = [gate.hold(point, point, batch=batch) for point, batch in POINTS.items()]
    held += [gate.hold(f"atomic-{point}", point, batch=1) for point in ATOMIC]
    frozen_ones |= in_one
    pipelines = [*frozen_ones.values(), same, other]
    with Driver([each.stream for each in frozen_ones.values()], tmp_path / "one", master="local[16]") as frozen:
        for each in held:
            each.wait()
        frozen.freeze()
        with Driver([each.stream for each in pipelines], tmp_path / "two") as second:
            second.wait()
        for pipeline in pipelines:
            pipeline.check()
        for each in held:
            each.release()
        frozen.thaw()
        frozen.wait()
        told = {point: [each["error"] for each in frozen.events("failed", point)] for point in frozen_ones}
    for point, errors in told.items():
        assert len(errors) == 1, f"{point}: {errors}"
        assert any(sentence in errors[0] for sentence in OVERTAKEN), f"{point}: {errors}"
    for pipeline in (same, other):
        _roll_back(Path(pipeline.stream.checkpoint), to=0)
    other.stream.rows_per_batch += 10  # so that its batches are others now
    once_more = [same, other, *(frozen_ones[point] for point in ONCE_MORE)]
    with Driver([each.stream for each in once_more], tmp_path / "three") as third:
        third.wait()
        [refusal] = third.events("failed")
    assert refusal["stream"] == "other"
    assert "the checkpoint was rolled back or copied. Nothing was written" in refusal["error"]
    for pipeline in pipelines:
        pipeline.check()


def _roll_back(checkpoint: Path, *, to: int) -> None:
    """As if the checkpoint had been restored from a copy of the time when batch `to` was its last."""
    for log in ("offsets", "commits"):
        for file in (checkpoint / log).iterdir():
            batch = file.name.strip(".").removesuffix(".crc")
            if batch.isdigit() and int(batch) > to:
                file.unlink()
