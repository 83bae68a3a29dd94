"""`format("barnabas")`: Spark's way in, to the sink and to the sources. It decides nothing but whose turn it is.

Spark makes one of these in a worker of its own for each thing that it wants, and pickles what it is given on to
others: so nothing is connected, and nothing is imported, before it is asked for.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSource

from pyspark_barnabas.options import OptionError, text


class BarnabasDataSource(DataSource):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """Topics of Barnabas or of Apache Kafka, or with `path` a data directory. All methods are Spark's."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format(…)`."""
        return "barnabas"

    def schema(self) -> Any:
        """The columns that are read."""
        if self._is_a_directory():
            from pyspark_barnabas import segments

            return segments.schema(self._options())
        from pyspark_barnabas import source

        return source.schema(self._options())

    def reader(self, schema: Any) -> Any:
        """Of `spark.read`."""
        if self._is_a_directory():
            from pyspark_barnabas.segments.reader import SegmentReader

            return SegmentReader(self._options(), schema)
        from pyspark_barnabas.source.batch_reader import BatchReader

        return BatchReader(self._options(), schema)

    def streamReader(self, schema: Any) -> Any:
        """Of `spark.readStream`."""
        if self._is_a_directory():
            raise OptionError("a data directory is read by spark.read, and not as a stream: leave the path out")
        from pyspark_barnabas.source.stream_reader import StreamReader

        return StreamReader(self._options(), schema)

    def writer(self, schema: Any, overwrite: bool) -> Any:
        """Of `df.write`."""
        from pyspark_barnabas.spark_sink.batch_writer import new_batch_writer

        return new_batch_writer(self._options(), schema, overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        """Of `df.writeStream`. `overwrite` is true in complete mode, where every batch is written like any other."""
        from pyspark_barnabas.spark_sink.stream_writer import StreamWriter

        return StreamWriter(self._options(), schema)

    def _options(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.options.items()}

    def _is_a_directory(self) -> bool:
        return text(self._options(), "path") is not None
