"""Flushes and checkpoints that run at any time, against a model of what one partition must still say afterwards.

The topic is deleted and made again, closed and opened, appended to and cut while jobs wait or are in the middle of a
write; then the power is cut. What was promised of the topic that is there now has to hold.
"""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.protocol.files.checkpoints import decode_leader_epochs
from barnabas.protocol.records.batch import iter_batches
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.log.flush import FlushPlan
from barnabas.storage.log.log import PartitionLog
from tests.support.files.interrupted_files import InterruptedFiles
from tests.support.files.log_directories import CONFIG, content, delete_due, flush, names_in, start
from tests.support.records.batches import batch_of

STEPS = ["append", "epoch", "flush", "plan", "end", "checkpoint", "cut", "again", "reopen", "interrupt"]
EPOCHS = "/data/t-0/leader-epoch-checkpoint"
WRITTEN = [EPOCHS, "/data/log-start-offset-checkpoint", "/data/recovery-point-offset-checkpoint"]
PLACES = [(call, f"{path}.tmp") for path in WRITTEN for call in ("pwrite", "sync")]
SMALL = CONFIG._replace(segment_bytes=300)


class Job(NamedTuple):
    """Something that runs in the thread: a plan of a log, or a checkpoint."""

    log: PartitionLog | None
    plan: FlushPlan | None
    job: SyncJob | None


class World:
    """One partition, the jobs that wait, and what the model promises."""

    def __init__(self, seed: int) -> None:
        self.files = InterruptedFiles(seed)
        self.directory: LogDirectory = start(self.files)
        self.jobs: list[Job] = []
        self.topics = 0
        self.epoch = 0
        self._make()

    def _make(self) -> None:
        """A new topic, without a past."""
        self.topics += 1
        self.epochs: set[int] = set()
        self.recovery_point = self.log_start = 0
        self._open()

    def _open(self) -> None:
        self.log = self.directory.open_log("t", 0, bytes([self.topics] * 16), SMALL, now_ms=1_000)

    def do(self, step: str) -> None:
        getattr(self, f"do_{step}")()
        self.recovery_point = self.log.recovery_point
        self.log_start = self.log.log_start_offset

    def do_append(self) -> None:
        self.log.append(batch_of([1_000] * 2), leader_epoch=self.epoch, now_ms=1_000)
        self.epochs.add(self.epoch)

    def do_epoch(self) -> None:
        self.epoch += 1
        self.do_append()

    def do_flush(self) -> None:
        flush(self.log)

    def do_plan(self) -> None:
        if (plan := self.log.begin_flush()) is not None and not any(job.log is self.log for job in self.jobs):
            self.jobs.append(Job(self.log, plan, None))

    def do_checkpoint(self) -> None:
        if not any(job.job for job in self.jobs) and (job := self.directory.begin_checkpoint()) is not None:
            self.jobs.append(Job(None, None, job))

    def do_end(self) -> None:
        """Run the job that waits longest."""
        if self.jobs:
            log, plan, job = self.jobs.pop(0)
            if plan is not None and log is not None:
                plan.run()
                log.end_flush(plan)
            elif job is not None:
                job.run()
                self.directory.end_checkpoint(job)

    def do_cut(self) -> None:
        """Records are deleted, and the segments they fill."""
        self.log.delete_records_before(self.log.high_watermark * 2 // 3)
        self.log.apply_retention(1_000)

    def do_again(self) -> None:
        self.directory.delete_log("t", 0, bytes([self.topics] * 16), due_ms=0)
        delete_due(self.directory, 0)
        self._make()

    def do_reopen(self) -> None:
        self.directory.close_log("t", 0)
        self._open()

    def cut_power(self) -> None:
        self.files.crash("some", torn=True)
        self.directory = start(self.files)
        self._open()

    def check(self) -> None:
        """What is there now is this topic's, whole, and all that was promised of it."""
        log = self.log
        assert log.log_start_offset <= self.log_start
        assert log.log_end_offset >= self.recovery_point
        offset, headers = log.log_start_offset, []
        while offset < log.log_end_offset:
            data = log.read(offset, 1 << 20, committed=False, force_first_batch=True).data
            assert data is not None
            headers += [header for _, header in iter_batches(data.read_all())]
            offset = headers[-1].next_offset
        self.directory.close_log("t", 0)
        entries = (
            decode_leader_epochs(content(self.files, EPOCHS))
            if "leader-epoch-checkpoint" in names_in(self.files, "/data/t-0")
            else []
        )
        assert {entry.epoch for entry in entries} <= self.epochs
        for header in headers:
            begun = [entry for entry in entries if entry.start_offset <= max(header.base_offset, log.log_start_offset)]
            assert begun[-1].epoch == header.partition_leader_epoch


@settings(max_examples=150, derandomize=True, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(PLACES)), max_size=30), seed=st.integers(0, 99))
def test_late_work_harms_no_topic(steps: list[tuple[str, tuple[str, str]]], seed: int) -> None:
    world = World(seed)
    left = iter(steps)

    def some_steps(count: int) -> None:
        for step, place in left:
            if step == "interrupt":
                world.files.interrupt(*place, lambda: some_steps(3))
                world.do("end")
                world.files.interruptions.clear()
            else:
                world.do(step)
            count -= 1
            if count == 0:
                return

    some_steps(-1)
    world.cut_power()
    world.check()
