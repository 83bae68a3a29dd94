"""What a query says of itself, for people and for programs. No JVM is needed for it."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pipeline.progress import ProgressListener, facts, line, time_of

PROGRESS: dict[str, Any] = {
    "id": "q",
    "runId": "r",
    "name": "aggregate",
    "timestamp": "2026-11-21T19:00:00.123Z",
    "batchId": 7,
    "numInputRows": 1000,
    "processedRowsPerSecond": 2000.04,
    "durationMs": {"triggerExecution": 500, "addBatch": 300},
    "eventTime": {"watermark": "2026-11-21T18:00:00.000Z"},
    "stateOperators": [{"numRowsTotal": 5, "numRowsDroppedByWatermark": 2}],
    "sources": [{"endOffset": {"orders": {"0": 3}}, "latestOffset": {"orders": {"0": 4}}}],
}


def test_a_batch_is_a_line_for_people_and_one_for_programs(tmp_path: Path) -> None:
    metrics, out = tmp_path / "metrics.jsonl", io.StringIO()
    listener = ProgressListener(str(metrics), out, now_ms=lambda: 5)
    listener.onQueryStarted(SimpleNamespace(name="aggregate", id="q", runId="r"))
    listener.onQueryProgress(SimpleNamespace(progress=SimpleNamespace(json=json.dumps(PROGRESS))))
    listener.onQueryTerminated(SimpleNamespace(runId="r", exception="it broke"))
    assert out.getvalue().splitlines() == [
        "aggregate: started, run r",
        "aggregate: batch 7, 1000 rows in 500 ms (2000 rows/s), watermark 2026-11-21T18:00:00.000Z",
    ]
    started, batch, ended = map(json.loads, metrics.read_text().splitlines())
    assert started == {"event": "started", "at_ms": 5, "query": "aggregate", "run_id": "r"}
    assert batch["at_ms"] == time_of("2026-11-21T19:00:00.623Z")
    assert (batch["batch"], batch["rows"], batch["state_rows"], batch["rows_dropped"]) == (7, 1000, 5, 2)
    assert batch["sources"] == [{"end": {"orders": {"0": 3}}, "latest": {"orders": {"0": 4}}}]
    assert ended["failed"] is True


def test_a_query_without_state_or_name_is_reported_too() -> None:
    bare = {key: PROGRESS[key] for key in ("id", "runId", "timestamp", "batchId", "sources")}
    assert line(facts(bare)) == "q: batch 7, 0 rows in 0 ms (0 rows/s)"
