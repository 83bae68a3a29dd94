"""The sources of an audit's rows: the broker, as for any consumer, or its files, or both."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets

FORMAT = "barnabas"
RECORD = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


@dataclass(frozen=True)
class Frames:
    """The two ways to the records. At least one of them is given.

    bootstrap_servers: brokers. data_directory: a broker's data directory, on a path that every executor sees.
    """

    spark: SparkSession
    bootstrap_servers: str | None
    data_directory: str | None

    def committed(self, *topics: str) -> DataFrame:
        """Return the committed records of some topics, as a consumer gets them: the columns of RECORD."""
        if self.bootstrap_servers is None:
            return self.from_files(*topics)
        reader = (
            self.spark.read.format(FORMAT)
            .option("kafka.bootstrap.servers", self.bootstrap_servers)
            .option("subscribe", ",".join(topics))
            .option("includeHeaders", "true")
        )
        return reader.load().select(*RECORD)

    def from_files(self, *topics: str) -> DataFrame:
        """Return the same, read from the files without a broker."""
        return self._files("records", topics).option("isolationLevel", "read_committed").load().select(*RECORD)

    def batches(self, *topics: str) -> DataFrame:
        """Return every batch in the logs, of any transaction."""
        return self._files("batches", topics).load()

    def findings(self, *topics: str) -> DataFrame:
        """Return the errors of the files."""
        return self._files("findings", topics).load()

    def group_offsets(self, group: str) -> dict[tuple[str, int], int] | None:
        """Return the offsets that a consumer group has committed; None if there is no broker."""
        if self.bootstrap_servers is None:
            return None
        with Client(self.bootstrap_servers) as client:
            return committed_offsets(client, group)

    def _files(self, content: str, topics: tuple[str, ...]):  # type: ignore[no-untyped-def]  # because Spark's types are not here
        assert self.data_directory is not None
        reader = self.spark.read.format(FORMAT).option("path", self.data_directory).option("content", content)
        return reader.option("subscribe", ",".join(topics))
