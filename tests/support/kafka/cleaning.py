"""Apache Kafka's own cleaner, called by tests: one JVM that cleans directories, a round for each question."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from barnabas.storage.cleaner.batch_retention import LastRecord
from barnabas.storage.cleaner.job import CleanJob
from tests.support.kafka.answering_jvm import AnsweringJvm


class KafkasRound(NamedTuple):
    """Kafka's report of a round; `stats`: messages mapped, bytes and messages read, invalid ones, both written."""

    end_offset: int
    last_stable_offset: int
    last_records: dict[int, LastRecord]
    stats: list[int]
    seconds: float


class KafkasCleaner(AnsweringJvm):
    """A context manager around the process."""

    def __init__(self) -> None:
        super().__init__("Cleaning.java")

    def clean(self, job: CleanJob, directory: Path) -> KafkasRound:
        """What the job says, done by Kafka in another directory, named `<topic>-<partition>`; swapped in."""
        config = {
            "cleanup.policy": "compact",
            "segment.bytes": max(job.config.segment_bytes, 1 << 20),
            "segment.index.bytes": job.config.segment_index_bytes,
            "index.interval.bytes": job.config.index_interval_bytes,
            "delete.retention.ms": job.config.delete_retention_ms,
        }
        question = {
            "directory": str(directory),
            "config": config,
            **{name: getattr(job, name) for name in _FIELDS},
        }
        answer: dict[str, Any] = self._ask(question)
        return KafkasRound(
            answer["end_offset"],
            answer["last_stable_offset"],
            {int(producer): LastRecord(*last) for producer, last in answer["last_records"].items()},
            answer["stats"],
            answer["nanoseconds"] / 1e9,
        )


_FIELDS = ("first_dirty", "first_uncleanable", "high_watermark", "now_ms", "dedupe_buffer_bytes", "io_buffer_bytes")
