"""One partition in a data directory in memory, with the accidents that can happen to it."""

import random
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal

from barnabas.logfiles.data_directory import PartitionFiles, live_files
from barnabas.logfiles.findings import Finding
from barnabas.logfiles.partition_check import check_partition
from barnabas.logfiles.root_check import check_root
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import RECOVERY_POINT_CHECKPOINT, first_given_up
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.protocol.records.record import BatchRecord, iter_records
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.errors import StorageError
from barnabas.storage.log.append import AppendResult
from barnabas.storage.log.flush import FlushPlan
from barnabas.storage.log.log import PartitionLog
from tests.support.files.held_bytes import HeldBytes
from tests.support.files.memory_files import MemoryFiles, PowerCut, Survival

ROOT = "/data"
TOPIC, PARTITION, TOPIC_ID = "t", 0, bytes(range(16))
START_MS = 1_700_000_000_000


class MemoryReading:
    """Files in memory, for the checks of barnabas.logfiles."""

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files

    def log(self, path: str, size: int) -> HeldBytes:
        return HeldBytes((self.content(path) or b"")[:size])

    def size(self, path: str) -> int:
        return len(self.content(path) or b"")

    def content(self, path: str) -> bytes | None:
        return self._files.peek(path)


class LogWorld:
    """Opens, stops, kills. `log` is the partition while it is open; time moves when a test moves it."""

    def __init__(self, seed: int = 0, config: LogConfig | None = None) -> None:
        self.files = MemoryFiles(seed)
        self.random = random.Random(seed)
        self.config = config or LogConfig()
        self.now_ms = START_MS
        self.leader_epoch = 0
        self.directory: LogDirectory | None = None
        self.log: PartitionLog

    # --- coming and going ---

    def open(self) -> PartitionLog:
        self.files.now_ms = self.now_ms
        self.directory = LogDirectory.open(ROOT, self.files, node_id=1, new_id=lambda: self.random.randbytes(16))
        self.log = self.directory.open_log(TOPIC, PARTITION, TOPIC_ID, self.config, self.now_ms)
        return self.log

    def stop(self) -> None:
        """A clean stop."""
        self.home.close(clean=True)
        self.directory = None

    def kill(self) -> None:
        """kill -9: the page cache survives."""
        self.files.crash("everything")
        self.directory = None

    def cut_power(self, survival: Survival = "some", *, torn: bool = False) -> None:
        self.files.crash(survival, torn=torn)
        self.directory = None

    def restart(self, how: Literal["stop", "kill"] = "kill") -> PartitionLog:
        self.stop() if how == "stop" else self.kill()
        return self.open()

    # --- what the broker does ---

    def append(
        self,
        *values: bytes,
        key: bytes | None = b"k",
        timestamp: int | None = None,
        producer_id: int = -1,
        epoch: int = -1,
        sequence: int = -1,
        transactional: bool = False,
        compression: int = 0,
        produce_version: int = 13,
    ) -> AppendResult:
        """Append one batch, as a client would send it."""
        timestamp = self.now_ms if timestamp is None else timestamp
        batch = build_batch(
            [(key, value, (), timestamp) for value in values],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
            compression=compression,
        )
        return self.append_batch(batch, produce_version=produce_version)

    def append_batch(self, batch: bytearray | memoryview, *, produce_version: int = 13) -> AppendResult:
        return self.log.append(
            batch, leader_epoch=self.leader_epoch, now_ms=self.now_ms, produce_version=produce_version
        )

    def mark(
        self,
        producer_id: int,
        epoch: int,
        *,
        commit: bool,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        hold: bool = False,
    ) -> AppendResult:
        """Append a transaction marker, as a coordinator would."""
        return self.log.append_marker(
            EndTxnMarker(commit, producer_id, epoch, coordinator_epoch, -1, self.now_ms),
            leader_epoch=self.leader_epoch,
            now_ms=self.now_ms,
            transaction_version=transaction_version,
            hold=hold,
        )

    def flush(self) -> None:
        plan = self.log.begin_flush()
        if plan is None:
            return
        try:
            plan.run()
        except StorageError as error:
            self.log.flush_failed(plan, error)
            raise
        self.log.end_flush(plan)

    def begin_flush(self, *, sealed_only: bool = False) -> FlushPlan:
        """Where there is something to flush; its end is `end_flush`."""
        plan = self.log.begin_flush(sealed_only=sealed_only)
        assert plan is not None
        return plan

    def end_flush(self, plan: FlushPlan) -> None:
        plan.run()
        self.log.end_flush(plan)

    def checkpoint(self) -> None:
        """Write the checkpoints, as the broker does every now and then."""
        job = self.home.begin_checkpoint()
        if job is not None:
            job.run()
            self.home.end_checkpoint(job)

    # --- what can be seen ---

    @property
    def home(self) -> LogDirectory:
        """The data directory, which is open."""
        assert self.directory is not None
        return self.directory

    def records(
        self, *, committed: bool = False, start: int | None = None, max_bytes: int = 1 << 20
    ) -> list[BatchRecord]:
        """Every record a consumer of this isolation level would see, read in pieces."""
        offset = self.log.log_start_offset if start is None else start
        found: list[BatchRecord] = []
        while True:
            result = self.log.read(offset, max_bytes, committed=committed, force_first_batch=True)
            if not result.size:
                return found
            data = memoryview(result.read_all())
            aborted = sorted(result.aborted or [], key=lambda txn: txn[1])
            for position, header in iter_batches(data):
                batch = data[position : position + header.size_in_bytes]
                if not header.is_control and not _is_aborted(header.producer_id, header.last_offset, aborted, header):
                    found += [record for record in iter_records(batch) if record.offset >= offset]
                if header.is_control:
                    aborted = [txn for txn in aborted if txn[0] != header.producer_id or txn[1] > header.last_offset]
                offset = max(offset, header.next_offset)

    def values(self, *, committed: bool = False) -> list[bytes | None]:
        return [record.value for record in self.records(committed=committed)]

    def findings(self) -> list[Finding]:
        """The findings of `barnabas log verify` on the partition's present files."""
        reading = MemoryReading(self.files)
        segments, snapshots = live_files(
            {name: reading.size(f"{self.path}/{name}") for name in self.files.peek_names(self.path)}
        )
        with suppress(DecodeError):  # `check_root` below reports it
            data = reading.content(f"{ROOT}/{RECOVERY_POINT_CHECKPOINT}") or b""
            recovery_point = decode_offsets(data).get((TOPIC, PARTITION), 0)
            gone = first_given_up(self.files.peek_names(self.path))
            files = PartitionFiles(
                TOPIC, PARTITION, self.path, segments, 0, None, snapshots, recovery_point, deleted_from=gone
            )
            return [*check_root(ROOT, reading), *check_partition(files, reading=reading)]
        return list(check_root(ROOT, reading))

    def names(self) -> list[str]:
        """The files of the partition."""
        return sorted(entry.name for entry in self.files.entries(self.path))

    def segments(self) -> list[int]:
        """The base offsets of those that are logs."""
        return [int(name[:20]) for name in self.names() if name.endswith(".log")]

    def remove(self, suffix: str) -> None:
        """Remove those whose names end so."""
        for name in self.names():
            if name.endswith(suffix):
                self.files.remove(f"{self.path}/{name}")

    @property
    def path(self) -> str:
        return f"{ROOT}/{TOPIC}-{PARTITION}"


def _is_aborted(producer_id: int, last_offset: int, aborted: list[tuple[int, int]], header: object) -> bool:
    transactional = bool(getattr(header, "is_transactional", False))
    return transactional and any(pid == producer_id and first <= last_offset for pid, first in aborted)


__all__ = ["PARTITION", "ROOT", "START_MS", "TOPIC", "TOPIC_ID", "LogWorld", "PowerCut"]


def open_world(seed: int = 0, *, values: Iterable[bytes] = (), **settings: Any) -> LogWorld:
    """A partition that is open, with these settings of its topic, and a batch of each of these values."""
    world = LogWorld(seed, LogConfig()._replace(**settings))
    world.open()
    for value in values:
        world.append(value)
    return world


def synced(world: LogWorld, since: int) -> list[str]:
    """The names synced since the `since`-th call, in order."""
    names = {"sync", "sync_directory"}
    return [call.path.rpartition("/")[2] for call in world.files.calls[since:] if call.name in names]
