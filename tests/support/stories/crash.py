"""The life of one partition: appends, transactions, flushes, checkpoints, rolls, stops, kills and power cuts.

`live` leads a random one, `follow` a script, in which a test makes one call fail or cuts the power before one change.
One seed is one story and can be repeated. The story knows every batch it wrote and what was synced; after every start
the checkers compare the partition's answers with that:

- everything acknowledged is there after a kill, everything synced after a power cut;
- what is there is a prefix of what was written, at the same offsets, without gaps;
- committed readers see exactly the batches of committed transactions below the oldest open one;
- each producer's last five batches are answered as duplicates, and its next one is accepted;
- look-ups by time and by leader epoch find what the batches say;
- recovering again changes nothing and drops nothing.
"""

import errno
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from barnabas.protocol.errors import ErrorCode
from barnabas.storage.config import LogConfig
from barnabas.storage.errors import StorageError
from barnabas.storage.log.append import AppendResult
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.log.offsets import MAX_TIMESTAMP
from barnabas.storage.refusals import AppendRefused
from barnabas.storage.steps import finish
from tests.support.files.log_directories import apply_retention, was_needed
from tests.support.files.memory_files import PowerCut
from tests.support.worlds.log import LogWorld

PRODUCERS = (1, 2, 3)
WINDOW = 5


class Written(NamedTuple):
    """A batch of the story. `kind` is data, commit or abort."""

    kind: str
    base_offset: int
    values: tuple[bytes, ...]
    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1
    transactional: bool = False
    timestamp: int = 0
    leader_epoch: int = 0

    @property
    def end_offset(self) -> int:
        return self.base_offset + max(1, len(self.values))


class CrashStory:
    """Tell with `live(steps)`. Every assertion carries the seed by the test's parameters."""

    def __init__(self, seed: int, config: LogConfig | None = None) -> None:
        self.random = random.Random(seed)
        self.interrupts_recovery = True
        self.crash_as = "cut"  # what a power cut in a script is: "cut", or "kill" for the process alone
        self._pending: Written | None = None  # sent when the power went, and perhaps written
        config = config or LogConfig(
            segment_bytes=self.random.choice([600, 2000, 1 << 30]),
            index_interval_bytes=self.random.choice([0, 200, 4096]),
            segment_index_bytes=self.random.choice([40, 10 << 20]),
            file_delete_delay_ms=0,
        )
        self.world = LogWorld(seed, config)
        self.written: list[Written] = []
        self.synced_end = 0
        self.start = 0
        self.world.open()

    # --- what may happen ---

    def live(self, steps: int) -> None:
        """Take that many steps, each of which may be the last before an accident."""
        for _ in range(steps):
            if self.random.random() < 0.15:
                self.world.files.cut_power_at(self.world.files.changes_made + self.random.randint(0, 12))
            try:
                self._step()
            except PowerCut:
                self._crash(self.random.choice(["kill", "cut", "cut"]))
            else:
                self.world.files.cut_power_at(None)

    def follow(self, script: Sequence[str]) -> None:
        """Take the steps of a script whatever happens, like a broker whose clients continue."""
        for name in script:
            try:
                getattr(self, "_" + name)()
            except PowerCut:
                self._crash(self.crash_as)
            except StorageError:
                assert self.world.directory is None or name != "append"
            if self.world.directory is None or self.world.directory.offline_reason is not None:
                self._crash("kill")

    def _step(self) -> None:
        step = self.random.choices(
            [
                self._append,
                self._mark,
                self._flush,
                self._checkpoint,
                self._retry,
                self._delete,
                self._fail,
                self._restart,
            ],
            [40, 8, 6, 4, 6, 2, 4, 6],
        )[0]
        step()

    def _append(self) -> None:
        values = tuple(self.random.randbytes(self.random.randint(0, 90)) for _ in range(self.random.randint(1, 3)))
        producer_id = self.random.choice((-1, *PRODUCERS))
        if producer_id < 0:
            self._write(Written("data", self.end, values))
            return
        epoch, sequence = self._next_of(producer_id)
        if self.random.random() < 0.05:
            epoch, sequence = epoch + 1, 0
        is_open = self._open_since(self.written, producer_id) is not None
        transactional = is_open or self.random.random() < 0.3
        self._write(Written("data", self.end, values, producer_id, epoch, sequence, transactional))

    def _mark(self) -> None:
        producer_id = self.random.choice(PRODUCERS)
        epoch = self._next_of(producer_id)[0] + self.random.choice([0, 1])
        kind = self.random.choice(["commit", "abort"])
        self._write(Written(kind, self.end, (), producer_id, epoch, -1, True))

    def _write(self, batch: Written) -> None:
        self.world.now_ms += 1
        timestamp = self.world.now_ms - self.random.randint(0, 3) * (batch.kind == "data")
        batch = batch._replace(timestamp=timestamp, leader_epoch=self.world.leader_epoch)
        self.written.append(batch)
        acknowledged = False
        try:
            result = self._send(batch)
            acknowledged = True
        except StorageError:
            self.written.pop()
            assert self.world.log.log_end_offset == self.end
            return
        finally:
            self._pending = None if acknowledged else batch
        assert (result.base_offset, result.is_duplicate) == (batch.base_offset, False)

    def _send(self, batch: Written) -> AppendResult:
        if batch.kind != "data":
            return self.world.mark(batch.producer_id, batch.epoch, commit=batch.kind == "commit")
        return self.world.append(
            *batch.values,
            timestamp=batch.timestamp,
            producer_id=batch.producer_id,
            epoch=batch.epoch,
            sequence=batch.sequence,
            transactional=batch.transactional,
        )

    def _retry(self) -> None:
        """An old batch again: a duplicate, out of order, or fenced, and never a change."""
        kept_from = self.world.log.first_segment_base_offset  # what is deleted can be recognised only until a restart
        batches = [
            batch
            for batch in self.written
            if batch.kind == "data" and batch.producer_id >= 0 and batch.base_offset >= kept_from
        ]
        if not batches:
            return
        batch = self.random.choice(batches[-20:])
        expected = self._answer_to(batch)
        try:
            result = self._send(batch)
        except AppendRefused as refused:
            found: int | ErrorCode = refused.code
        else:
            assert result.is_duplicate
            found = result.base_offset
        assert found == expected, (batch, found, expected)

    def _flush(self) -> None:
        try:
            self.world.flush()
        except StorageError:
            return
        self.synced_end = self.end
        assert self.world.log.recovery_point == self.end

    def _checkpoint(self) -> None:
        self.world.checkpoint()

    def _delete(self) -> None:
        """Flush first: were the log cut below its new start, it would begin again (case V). Checkpoint at once: a start
        that falls back has lost its epochs. This story knows no such things.
        """
        self._flush()
        self.start = max(self.start, self.random.randint(0, self.world.log.high_watermark))
        self.world.log.delete_records_before(self.start)
        self.world.checkpoint()
        apply_retention(self.world.log, self.world.now_ms)

    def _fail(self) -> None:
        """A full or failing disk for one append, then it is well again."""
        self.world.files.fail(
            self.random.choice(["pwrite", "create", "truncate", "any"]),
            self.random.choice([errno.ENOSPC, errno.EIO]),
            skip=self.random.randint(0, 4),
            times=1,
            short=self.random.choice([None, 0, 7, 61]),
        )
        self._append()
        self.world.files.heal()
        assert self.world.directory is not None
        if self.world.directory.offline_reason is not None:
            self._crash("kill")

    def _stop(self) -> None:
        end = self.end
        try:
            self.world.stop()
        except StorageError:  # no marker then; the process ends all the same
            self._crash("kill")
        else:
            self._open(end, after_stop=True)

    def _restart(self) -> None:
        how = self.random.choice(["stop", "kill", "cut"])
        if how == "stop":
            self.world.stop()
            self._open(self.end, after_stop=True)
        else:
            self._crash(how)

    def _crash(self, how: str) -> None:
        self.world.files.heal()
        pending_start = self._pending.base_offset if self._pending else self.end
        if how == "kill":
            self.world.kill()
            self._open(pending_start)
        else:
            self.world.cut_power(self.random.choice(["nothing", "some"]), torn=self.random.random() < 0.5)
            self._open(self.synced_end)

    # --- what must hold ---

    def _open(self, least_end: int, *, after_stop: bool = False) -> None:
        self._pending = None
        if self.interrupts_recovery and self.random.random() < 0.2:  # recovery itself may be interrupted
            self._open_interrupted()
        self.world.leader_epoch += self.random.randint(0, 1)
        log = self._open_log()
        end = log.log_end_offset
        assert least_end <= end <= self.end
        if after_stop:
            assert not was_needed(log.recovered)
        self.written = [batch for batch in self.written if batch.end_offset <= end]
        assert end == self.end
        self.synced_end = end if after_stop else min(self.synced_end, end)
        self.start = log.log_start_offset  # an unsaved start falls back, as Kafka's does
        self._check_contents()
        self._check_look_ups()
        self._check_windows()
        if self.random.random() < 0.3 and not after_stop:
            before = self._visible()
            self.world.kill()
            again = self.world.open()
            assert self._visible() == before
            assert again.recovered.bytes_dropped == 0

    def _open_log(self) -> PartitionLog:
        try:
            return self.world.open()
        except StorageError:  # the one failure a script injects; the next start works
            self.world.files.heal()
            self.world.kill()
            return self.world.open()

    def _open_interrupted(self) -> None:
        self.world.files.cut_power_at(self.world.files.changes_made + self.random.randint(0, 10))
        with suppress(PowerCut):  # the cut may come after the opening
            self.world.open()
        self.world.files.cut_power_at(None)
        self.world.kill()

    def _check_contents(self) -> None:
        log = self.world.log
        assert self.world.findings() == []  # of a log that was opened there is nothing left to say
        assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark == log.log_end_offset
        read = [(record.offset, record.value) for record in self.world.records()]
        assert read == [
            (batch.base_offset + index, value)
            for batch in self.written
            for index, value in enumerate(batch.values)
            if batch.base_offset + index >= log.log_start_offset
        ]
        committed = {(record.offset, record.value) for record in self.world.records(committed=True)}
        assert committed == self._committed(log.log_start_offset)

    def _check_look_ups(self) -> None:
        log, start = self.world.log, self.world.log.log_start_offset
        remaining = [batch for batch in self.written if batch.end_offset > start]
        times = [(batch.timestamp, max(batch.base_offset, start)) for batch in remaining]
        for looked_up in {timestamp + more for timestamp, _ in times for more in (0, 1)}:
            expected = next(((timestamp, offset) for timestamp, offset in times if timestamp >= looked_up), (-1, -1))
            assert finish(log.find_offset(looked_up, committed=False))[:2] == expected
        largest = max((timestamp for timestamp, _ in times), default=-1)
        assert finish(log.find_offset(MAX_TIMESTAMP, committed=False)).timestamp == largest
        if self.written:
            for epoch in {batch.leader_epoch for batch in remaining}:
                begun_later = [batch.base_offset for batch in self.written if batch.leader_epoch > epoch]
                found = log.end_offset_for_epoch(epoch)
                assert found == (epoch, min(begun_later, default=self.end)), (epoch, found, log._epochs.entries)

    def _visible(self) -> tuple[object, ...]:
        log = self.world.log
        return log.log_end_offset, log.last_stable_offset, self.world.records(), self.world.records(committed=True)

    def _committed(self, start: int) -> set[tuple[int, bytes]]:
        unstable = [self._open_since(self.written, producer_id) for producer_id in PRODUCERS]
        bound = min((offset for offset in unstable if offset is not None), default=self.end)
        assert self.world.log.last_stable_offset == max(bound, start)
        seen: set[tuple[int, bytes]] = set()
        for index, batch in enumerate(self.written):
            if batch.kind != "data" or batch.end_offset > bound:
                continue
            if batch.transactional and self._outcome(index) == "abort":
                continue
            seen |= {
                (batch.base_offset + number, value)
                for number, value in enumerate(batch.values)
                if batch.base_offset + number >= start
            }
        return seen

    def _outcome(self, index: int) -> str | None:
        producer_id = self.written[index].producer_id
        for batch in self.written[index + 1 :]:
            if batch.producer_id == producer_id and batch.kind != "data":
                return batch.kind
        return None

    def _check_windows(self) -> None:
        """Each of the last five batches of every producer is known; asking changes nothing."""
        for producer_id in PRODUCERS:
            epoch = self._next_of(producer_id)[0]
            batches = [
                b for b in self.written if b.kind == "data" and b.producer_id == producer_id and b.epoch == epoch
            ]
            remaining = [
                batch for batch in batches[-WINDOW:] if batch.base_offset >= self.world.log.first_segment_base_offset
            ]
            self.random.shuffle(remaining)
            for batch in remaining:
                result = self._send(batch)
                assert (result.base_offset, result.is_duplicate) == (batch.base_offset, True)
        assert self.world.log.log_end_offset == self.end

    # --- what the story knows ---

    @property
    def end(self) -> int:
        return self.written[-1].end_offset if self.written else 0

    def _next_of(self, producer_id: int) -> tuple[int, int]:
        """(epoch, next sequence) of a producer."""
        mine = [batch for batch in self.written if batch.producer_id == producer_id]
        epoch = max((batch.epoch for batch in mine), default=0)
        last = next((b for b in reversed(mine) if b.kind == "data" and b.epoch == epoch), None)
        return epoch, 0 if last is None else last.sequence + len(last.values)

    @staticmethod
    def _open_since(written: list[Written], producer_id: int) -> int | None:
        since = None
        for batch in written:
            if batch.producer_id != producer_id:
                continue
            if batch.kind != "data":
                since = None
            elif batch.transactional and since is None:
                since = batch.base_offset
        return since

    def _answer_to(self, batch: Written) -> int | ErrorCode:
        epoch = self._next_of(batch.producer_id)[0]
        if batch.epoch < epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        mine = [b for b in self.written if b.kind == "data" and b.producer_id == batch.producer_id and b.epoch == epoch]
        return batch.base_offset if batch in mine[-WINDOW:] else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
