"""`format("barnabas")`: Spark's way in, to the sink and to the sources. It decides nothing but whose turn it is.

Spark makes one of these in a worker of its own for each thing that it wants, and pickles what it is given on to
others: so nothing is connected, and nothing is imported, before it is asked for. What a release of Spark does not offer
to Python is looked for by its name, never by a version: docs/spark-versions.md.
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
        'Spark 3.5 has no data sources in Python, so no format("barnabas"): write with pyspark_barnabas.exactly_once in'
        " foreachBatch, or use Spark 4"
    ) from None

from pyspark_barnabas.options import OptionError, text
from pyspark_barnabas.telling.user_errors import UserError, sentence_alone
from pyspark_barnabas.worker.workers import keep_what_is_loaded


class BarnabasDataSource(DataSource):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """Topics of Barnabas or of Apache Kafka, or with `path` a data directory. All methods are Spark's."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format(…)`."""
        return "barnabas"

    @sentence_alone
    def schema(self) -> Any:
        """The columns that are read."""
        if self._is_a_directory():
            from pyspark_barnabas.source import segments

            return segments.schema(self._options())
        from pyspark_barnabas import source

        return source.schema(self._options())

    @sentence_alone
    def reader(self, schema: Any) -> Any:
        """Of `spark.read`."""
        if self._is_a_directory():
            from pyspark_barnabas.source.segments.reader import SegmentReader

            return SegmentReader(self._options(), schema)
        from pyspark_barnabas.source.readers.batch_reader import BatchReader

        return BatchReader(self._options(), schema)

    @sentence_alone
    def streamReader(self, schema: Any) -> Any:
        """Of `spark.readStream`."""
        from pyspark_barnabas.source.readers.stream_reader import RefusingReader, StreamReader

        try:
            if self._is_a_directory():
                raise OptionError("a data directory is read by spark.read, and not as a stream: leave the path out")
            if find_spec("pyspark.sql.streaming.datasource") is None:  # Spark 4.0 and 4.1
                return StreamReader(self._options(), schema)
            from pyspark_barnabas.source.readers.limited_stream_reader import LimitedStreamReader

            return LimitedStreamReader(self._options(), schema)
        except UserError as error:  # Spark stops a reader that it does not have, and ends in a NameError of its own
            return RefusingReader(error)

    @sentence_alone
    def writer(self, schema: Any, overwrite: bool) -> Any:
        """Of `df.write`."""
        from pyspark_barnabas.spark_sink.batch_writer import new_batch_writer

        return new_batch_writer(self._options(), schema, overwrite)

    @sentence_alone
    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        """Of `df.writeStream`. `overwrite` is true in complete mode, where every batch is written like any other."""
        from pyspark_barnabas.spark_sink.stream_writer import StreamWriter

        keep_what_is_loaded()  # two processes are asked for this with every batch: who plans, and who commits
        return StreamWriter(self._options(), schema)

    def _options(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.options.items()}

    def _is_a_directory(self) -> bool:
        return text(self._options(), "path") is not None
