"""How far a query is behind its topics, from Spark's progress report of a batch: for its listeners and for dashboards.

Spark's stock Kafka source has these figures in the `metrics` of its progress, under the same names. A source in Python
cannot report any; its offsets are in the progress all the same. Pure; it does not contact the broker, so the figures
are those of the time when the batch was planned, and there are none if Spark reports none: before Spark 4.2 a progress
has no `latestOffset` of a source in Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark_barnabas.source.offsets import OffsetsError, from_json


class OffsetsBehind(NamedTuple):
    """Offsets that were in the log and not in the batches so far: of the partitions of one source. Markers count."""

    minOffsetsBehindLatest: int
    maxOffsetsBehindLatest: int
    avgOffsetsBehindLatest: float
    total: int


def offsets_behind(progress: Any) -> list[OffsetsBehind | None]:
    """Return one entry for each of a progress's `sources`, in order; None if a source reports no offsets of topics.

    progress: the progress that a StreamingQueryListener gets, or a query's `lastProgress`.
    """
    report = json.loads(progress.json) if hasattr(progress, "json") else progress
    return [_behind(source) for source in report["sources"]]


def _behind(source: Mapping[str, Any]) -> OffsetsBehind | None:
    try:
        end, latest = from_json(source["endOffset"]), from_json(source["latestOffset"])
    except (OffsetsError, KeyError):
        return None
    # Only the broker knows where a partition begins that is in no batch yet: it counts from its first batch on.
    behind = [max(0, offset - end[partition]) for partition, offset in latest.items() if partition in end]
    if not behind:
        return None
    return OffsetsBehind(min(behind), max(behind), sum(behind) / len(behind), sum(behind))
