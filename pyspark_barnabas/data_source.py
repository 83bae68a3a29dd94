"""`format("barnabas")`: Spark's entry point to the sink and to the sources. It only delegates.

Spark creates a separate instance in a worker for each operation, and pickles its settings and sends them to others:
so nothing is connected, and nothing is imported, before it is needed. A feature that a release of Spark may not offer
to Python is looked up by its name, never by a version: docs/spark-versions.md.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

try:
    from pyspark.sql.datasource import DataSource
except ModuleNotFoundError as missing:
    if missing.name != "pyspark.sql.datasource":
        raise
    raise ImportError(
        'Spark 3.5 has no Python data sources, so format("barnabas") is unknown: write with'
        " pyspark_barnabas.exactly_once in foreachBatch, or use Spark 4"
    ) from None

from pyspark_barnabas.options import OptionError, text
from pyspark_barnabas.reporting.user_errors import UserError, sentence_alone
from pyspark_barnabas.worker.workers import keep_what_is_loaded


class BarnabasDataSource(DataSource):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """Topics of Barnabas or of Apache Kafka, or with `path` a data directory. All methods are Spark's."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format(…)`."""
        return "barnabas"

    @sentence_alone
    def schema(self) -> Any:
        """Return the columns that are read."""
        if self._is_a_directory():
            from pyspark_barnabas.source import segments

            return segments.schema(self._options())
        from pyspark_barnabas import source

        return source.schema(self._options())

    @sentence_alone
    def reader(self, schema: Any) -> Any:
        """Create the reader of `spark.read`."""
        if self._is_a_directory():
            from pyspark_barnabas.source.segments.reader import SegmentReader

            return SegmentReader(self._options(), schema)
        from pyspark_barnabas.source.readers.batch_reader import BatchReader

        return BatchReader(self._options(), schema)

    @sentence_alone
    def streamReader(self, schema: Any) -> Any:
        """Create the reader of `spark.readStream`."""
        from pyspark_barnabas.source.readers.stream_reader import RefusingReader, StreamReader

        try:
            if self._is_a_directory():
                raise OptionError("only spark.read reads a data directory, a stream does not: omit the path")
            if find_spec("pyspark.sql.streaming.datasource") is None:  # Spark 4.0 and 4.1
                return StreamReader(self._options(), schema)
            from pyspark_barnabas.source.readers.limited_stream_reader import LimitedStreamReader

            return LimitedStreamReader(self._options(), schema)
        except UserError as error:  # Spark stops a reader that does not exist, and fails with a NameError
            return RefusingReader(error)

    @sentence_alone
    def writer(self, schema: Any, overwrite: bool) -> Any:
        """Create the writer of `df.write`."""
        from pyspark_barnabas.spark_sink.batch_writer import new_batch_writer

        return new_batch_writer(self._options(), schema, overwrite)

    @sentence_alone
    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        """Create the writer of `df.writeStream`. `overwrite` is true in complete mode, and has no effect here."""
        from pyspark_barnabas.spark_sink.stream_writer import StreamWriter

        keep_what_is_loaded()  # two processes call this with every batch: the one that plans, and the one that commits
        return StreamWriter(self._options(), schema)

    def _options(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.options.items()}

    def _is_a_directory(self) -> bool:
        return text(self._options(), "path") is not None
