"""Apache Kafka's own cleaner, called by tests: one JVM that cleans directories, a round for each question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.storage.cleaner.batch_retention import LastRecord
from barnabas.storage.cleaner.job import CleanJob
from tests.support.clients.java import program_command
from tests.support.processes.program import Program

_SOURCE = Path(__file__).parents[2] / "oracle" / "Cleaning.java"


class KafkasRound(NamedTuple):
    """Kafka's report of a round; `stats`: messages mapped, bytes and messages read, invalid ones, both written."""

    end_offset: int
    last_stable_offset: int
    last_records: dict[int, LastRecord]
    stats: list[int]
    seconds: float


class KafkasCleaner:
    """A context manager around the process."""

    def __init__(self) -> None:
        self._program = Program(program_command(_SOURCE))
        self._count = 0

    def clean(self, job: CleanJob, directory: Path) -> KafkasRound:
        """What the job says, done by Kafka in another directory, named `<topic>-<partition>`; swapped in."""
        self._count += 1
        config = {
            "cleanup.policy": "compact",
            "segment.bytes": max(job.config.segment_bytes, 1 << 20),
            "segment.index.bytes": job.config.segment_index_bytes,
            "index.interval.bytes": job.config.index_interval_bytes,
            "delete.retention.ms": job.config.delete_retention_ms,
        }
        question = {
            "number": self._count,
            "directory": str(directory),
            "config": config,
            **{name: getattr(job, name) for name in _FIELDS},
        }
        self._program.tell(json.dumps(question))
        prefix = f"{self._count} "
        answer: dict[str, Any] = json.loads(self._program.line(prefix).removeprefix(prefix))
        return KafkasRound(
            answer["end_offset"],
            answer["last_stable_offset"],
            {int(producer): LastRecord(*last) for producer, last in answer["last_records"].items()},
            answer["stats"],
            answer["nanoseconds"] / 1e9,
        )

    def __enter__(self) -> KafkasCleaner:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close()


_FIELDS = ("first_dirty", "first_uncleanable", "high_watermark", "now_ms", "dedupe_buffer_bytes", "io_buffer_bytes")
