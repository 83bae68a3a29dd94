"""`spark.readStream` on Spark 4.2 and later, which request the end of a batch: limits, AvailableNow, lag."""

from __future__ import annotations

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from pyspark_barnabas.reporting.user_errors import sentence_alone
from pyspark_barnabas.source.offsets import Json, position_from_json, position_to_json, to_json
from pyspark_barnabas.source.readers.stream_reader import StreamReader


class LimitedStreamReader(StreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """A reader that gets the beginning of a batch and its limit."""

    takes_limits = True

    @sentence_alone
    def prepareForTriggerAvailableNow(self) -> None:
        """Limit the run to what exists now."""
        with self._planning() as plan:
            plan.fix_the_end()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return one of the two limits: Spark has no name for both, so latestOffset checks the other itself."""
        if self._settings.max_offsets:
            return ReadMaxRows(self._settings.max_offsets)
        if self._settings.min_offsets:
            return ReadMinRows(self._settings.min_offsets)
        return ReadAllAvailable()

    @sentence_alone
    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # type: ignore[override]  # because Spark asks so
        """Return where the batch from `start` on ends."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        waits = not isinstance(limit, ReadAllAvailable)
        with self._planning() as plan:
            return position_to_json(plan.end_of_batch(position_from_json(start), most, waits=waits))

    def reportLatestOffset(self) -> Json | None:
        """Return the latest offsets for Spark's progress report."""
        return None if self._made is None or self._made.seen is None else to_json(self._made.seen.offsets)
