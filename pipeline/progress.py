"""The progress reports of a query: a line for people, a line of JSON for programs.

Lines of JSON, appended, and not a file in Prometheus's format: each batch is an event that happened once, and a process
that is killed leaves all the events up to then. (The current state, above all the lag, is available to Prometheus from
the broker's consumer groups: the sink commits its source's offsets with each batch.)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TextIO

from pyspark.sql.streaming import StreamingQueryListener

from barnabas.client.clock import SystemClientClock


def facts(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Extract counts, milliseconds, and how far the source was read from Spark's progress report."""
    took = progress.get("durationMs", {})
    watermark = progress.get("eventTime", {}).get("watermark")
    return {
        "event": "batch",
        "at_ms": time_of(progress["timestamp"]) + int(took.get("triggerExecution", 0)),
        "query": progress.get("name") or progress["id"],
        "run_id": progress["runId"],
        "batch": progress["batchId"],
        "rows": progress.get("numInputRows", 0),
        "rows_per_second": round(progress.get("processedRowsPerSecond") or 0.0, 1),
        "took_ms": int(took.get("triggerExecution", 0)),
        "add_batch_ms": int(took.get("addBatch", 0)),
        "sources": [
            {"end": source.get("endOffset"), "latest": source.get("latestOffset")} for source in progress["sources"]
        ],
        "state_rows": sum(state.get("numRowsTotal", 0) for state in progress.get("stateOperators", [])),
        "rows_dropped": sum(state.get("numRowsDroppedByWatermark", 0) for state in progress.get("stateOperators", [])),
        "watermark": watermark,
    }


def line(found: Mapping[str, Any]) -> str:
    """Format the facts of a batch for people."""
    watermark = f", watermark {found['watermark']}" if found["watermark"] else ""
    return (
        f"{found['query']}: batch {found['batch']}, {found['rows']} rows in {found['took_ms']} ms"
        f" ({found['rows_per_second']:.0f} rows/s){watermark}"
    )


def time_of(timestamp: str) -> int:
    """Return the milliseconds of a time that Spark writes as 2026-11-21T19:00:00.123Z."""
    return round(datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() * 1000)


class ProgressListener(StreamingQueryListener):  # type: ignore[misc]  # because the checks run without pyspark
    """Records every batch, and every start and end of a query."""

    def __init__(
        self,
        metrics: str | None,
        out: TextIO | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._metrics = metrics
        self._out = out
        self._now_ms = now_ms or SystemClientClock().now_ms

    def onQueryStarted(self, event: Any) -> None:
        """Handle Spark's event: a run of a query begins."""
        self._say(f"{event.name or event.id}: started, run {event.runId}")
        self._write({"event": "started", "at_ms": self._now_ms(), "query": event.name, "run_id": str(event.runId)})

    def onQueryProgress(self, event: Any) -> None:
        """Handle Spark's event: a batch is done, or a while has passed without one."""
        found = facts(json.loads(event.progress.json))
        self._say(line(found))
        self._write(found)

    def onQueryTerminated(self, event: Any) -> None:
        """Handle Spark's event: a run ended. Its error is in the query's exception, which the job reports."""
        self._write(
            {
                "event": "ended",
                "at_ms": self._now_ms(),
                "run_id": str(event.runId),
                "failed": event.exception is not None,
            }
        )

    def onQueryIdle(self, event: Any) -> None:
        """Handle Spark's event: there is nothing to do."""

    def _say(self, text: str) -> None:
        print(text, file=self._out or sys.stderr, flush=True)

    def _write(self, found: Mapping[str, Any]) -> None:
        if self._metrics is not None:
            with open(self._metrics, "a") as file:
                file.write(json.dumps(found) + "\n")
