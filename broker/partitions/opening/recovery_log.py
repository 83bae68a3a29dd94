"""The log lines about a partition that was opened or recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.broker.runtime.log_lines import line, logger

if TYPE_CHECKING:
    from barnabas.storage.directories.recovered_logs import ClosedLog
    from barnabas.storage.log.log import PartitionLog
    from barnabas.storage.recovery.report import Recovered

_log = logger("storage")


def log_recovery(topic: str, partition: int, closed: ClosedLog) -> None:
    """Write the line of `log_opening` for a partition that was recovered in a process, and is not open."""
    _log_recovered({"topic": topic, "partition": partition, "log_end_offset": closed.recovery_point}, closed.recovered)


def log_opening(log: PartitionLog) -> None:
    """Write one line for a log that was opened: a warning with every note where recovery dropped something."""
    facts = {"topic": log.topic, "partition": log.partition, "log_end_offset": log.log_end_offset}
    _log_recovered(facts, log.recovered)


def _log_recovered(facts: dict[str, Any], recovered: Recovered) -> None:
    if not recovered.notes:
        _log.debug(line("partition opened", **facts))
        return
    dropped = {"bytes_dropped": recovered.bytes_dropped, "segments_dropped": recovered.segments_dropped}
    _log.warning(line("partition recovered", **facts, **dropped, notes="; ".join(recovered.notes)))
