"""The interface for Spark: a batch reader over a data directory.

`partitions` lists the directory and cuts the logs, in one process; `read` runs in the tasks, and needs only its
argument. Everything is as of the listing: what a running broker appends meanwhile is not seen by any task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from barnabas.logfiles.data_directory import PartitionFiles, read_layout
from barnabas.logfiles.segment_check import check_segment
from pyspark_barnabas.options import OptionError
from pyspark_barnabas.reporting.user_errors import sentence_alone, sentence_alone_in_rows
from pyspark_barnabas.source.segments.outcomes import first_open_offset
from pyspark_barnabas.source.segments.pushdown import Wanted, narrow
from pyspark_barnabas.source.segments.settings import SegmentReadSettings, read_settings
from pyspark_barnabas.source.segments.splits import OffsetBounds, Piece, plan, whole_segments
from pyspark_barnabas.source.segments.stretches import Stretch, narrowed, read_stretches
from pyspark_barnabas.worker.worker_connections import SentToWorkers
from pyspark_barnabas.worker.workers import keep_what_is_loaded

EVERYTHING = Wanted(lambda topic, partition: True, OffsetBounds())


class SegmentInputPartition(InputPartition):  # type: ignore[misc]  # because the checks run without pyspark
    """The pieces that one task reads."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        super().__init__(pieces)
        self.pieces = pieces


class SegmentReader(SentToWorkers, DataSourceReader):  # type: ignore[misc]  # because the checks run without pyspark
    """A reader of a data directory, as the options configure it.

    Spark refuses a reader that takes filters unless spark.sql.python.filterPushdown.enabled is set, so the method that
    takes them is only found where Spark calls it.
    """

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        self._settings = read_settings(options)
        self._schema = schema
        self._wanted = EVERYTHING
        self.pushFilters = _PushFilters(self)

    def narrow(self, filters: Iterable[Any]) -> None:
        """Reduce reading by the filters."""
        self._wanted = narrow(filters)

    @sentence_alone
    def partitions(self) -> list[SegmentInputPartition]:
        """Return one part for each task."""
        settings = self._settings
        found = read_layout(settings.path, settings.wants)
        _refuse_missing(settings, found)
        layout = [files for files in found if self._wanted.place(files.topic, files.partition)]
        ranges = [(files, _intersect(settings.offsets(files), self._wanted.offsets)) for files in layout]
        if settings.content == "findings":
            return [SegmentInputPartition((piece,)) for piece in whole_segments(ranges)] or [SegmentInputPartition(())]
        parts = plan(ranges, split_bytes=settings.split_bytes, parts_min=settings.parts_min)
        if settings.is_committed:
            ends = {files: first_open_offset(files) for files, _ in ranges}
            parts = [tuple(narrowed(piece, ends[piece.files]) for piece in part) for part in parts]
        return [SegmentInputPartition(part) for part in parts] or [SegmentInputPartition(())]

    def read(self, partition: SegmentInputPartition) -> Iterator[Any]:
        """Return the rows of a part, as Arrow batches."""
        keep_what_is_loaded()
        return sentence_alone_in_rows(self._rows(partition))

    def _rows(self, partition: SegmentInputPartition) -> Iterator[Any]:
        from pyspark_barnabas.source.segments import rows

        schema = _arrow_schema(self._schema)
        if self._settings.content == "findings":
            found = (
                (each.files.topic, each.files.partition, finding)
                for each in partition.pieces
                for finding in check_segment(each.files, each.segment)
            )
            yield from rows.finding_rows(found, schema)
            return
        for piece in partition.pieces:
            if self._settings.content == "batches":
                yield from rows.batch_rows(self._stretches(piece), schema)
            else:
                yield from rows.record_rows(self._stretches(piece), piece.offsets, schema)

    def _stretches(self, piece: Piece) -> Iterator[Stretch]:
        settings = self._settings
        return read_stretches(piece, is_committed=settings.is_committed, fail_on_data_loss=settings.fail_on_data_loss)


class _PushFilters:
    """`pushFilters` for Spark's call; Spark's check whether the method is overridden finds the default."""

    __func__ = staticmethod(getattr(DataSourceReader, "pushFilters", lambda: None))  # Spark 4.0 has none

    def __init__(self, reader: SegmentReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Any]) -> list[Any]:
        """Reduce reading, and leave every filter to Spark as well."""
        self._reader.narrow(filters)
        return filters


def _arrow_schema(schema: Any) -> Any:
    """Return the schema with timestamps in UTC, the default of Spark's function as long as it takes no time zone."""
    options = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **options)


def _intersect(one: OffsetBounds, other: OffsetBounds) -> OffsetBounds:
    ends = [end for end in (one.end, other.end) if end is not None]
    return OffsetBounds(max(one.start, other.start), min(ends, default=None))


def _refuse_missing(settings: SegmentReadSettings, layout: Iterable[PartitionFiles]) -> None:
    """Raise OptionError for a topic or a partition that was named and does not exist."""
    found = {(files.topic, files.partition) for files in layout}
    topics = {topic for topic, _ in found}
    named = set(settings.topics or ()) - topics
    named |= {
        f"{topic}-{partition}"
        for topic, partitions in (settings.assigned or {}).items()
        for partition in partitions
        if (topic, partition) not in found
    }
    if named:
        raise OptionError(
            f"{settings.path} has no {', '.join(sorted(named))}; it has {', '.join(sorted(topics)) or 'none'}"
        )
