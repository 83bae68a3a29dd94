"""Reasons for which a query cannot be exact, with a sentence each. Checked before a query starts, and by its tasks."""

from __future__ import annotations

from dataclasses import dataclass

MICRO_BATCH_TRIGGERS = frozenset({"processingTime", "once", "availableNow"})


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The settings that decide whether a query can be exact.

    trigger: as DataStreamWriter.trigger names it. output_mode: append, complete or update. is_data_source: whether it
    goes through the Python data source, and not through foreachBatch. broker_max_timeout_ms: the broker's
    transaction.max.timeout.ms; None if it is not known, or if two-phase commits need no timeout.
    """

    prefix: str
    trigger: str = "processingTime"
    output_mode: str = "append"
    is_data_source: bool = True
    has_async_progress_tracking: bool = False
    has_speculation: bool = False
    is_atomic: bool = False
    max_stage_attempts: int = 4
    transaction_timeout_ms: int = 900_000
    broker_max_timeout_ms: int | None = None


def refuse(settings: QuerySettings) -> list[str]:
    """Return why the query would be weaker than exactly once: a sentence for each reason, none if it would not."""
    return [sentence for is_so, sentence in _reasons(settings) if is_so]


def _reasons(settings: QuerySettings) -> list[tuple[bool, str]]:
    limit_ms = settings.broker_max_timeout_ms
    return [
        (
            not settings.prefix.strip(),
            "the sink has no name for its transactions: set transactionalIdPrefix to a prefix that no other query uses",
        ),
        (
            settings.trigger == "continuous",
            "the continuous trigger writes a batch before it stores the batch's offsets, so a restart cannot repeat it"
            " exactly: use trigger(processingTime=...)",
        ),
        (
            settings.trigger == "realTime",
            "the real-time trigger stores a batch's offsets only at its end, so a restart cannot repeat it"
            " exactly: use trigger(processingTime=...)",
        ),
        (
            settings.trigger not in MICRO_BATCH_TRIGGERS | {"continuous", "realTime"},
            f"the trigger {settings.trigger!r} is not known to store a batch's offsets before the batch is written:"
            f" use one of {', '.join(sorted(MICRO_BATCH_TRIGGERS))}",
        ),
        (
            settings.has_async_progress_tracking,
            "asynchronous progress tracking does not store every batch's offsets, so a restart cannot repeat"
            " them exactly: set asyncProgressTrackingEnabled to false",
        ),
        (
            settings.has_speculation,
            "with speculation Spark runs a task twice at the same time, and both write: set spark.speculation to false",
        ),
        (
            settings.is_atomic and settings.max_stage_attempts != 1,
            "when Spark retries a stage, its tasks write again, and in atomic mode their first rows cannot be "
            "removed from the transaction: set spark.stage.maxConsecutiveAttempts to 1; the query then stops, and its"
            " restart repeats the batch",
        ),
        (
            settings.output_mode == "update" and settings.is_data_source,
            "Spark has no update mode for Python data sources: use foreachBatch with the sink's own function, which"
            " commits by the same protocol",
        ),
        (
            limit_ms is not None and settings.transaction_timeout_ms > limit_ms,
            f"kafka.transaction.timeout.ms is {settings.transaction_timeout_ms}, but the broker allows at most "
            f"{limit_ms}: lower it, or raise the broker's transaction.max.timeout.ms",
        ),
    ]
