#!/bin/sh
# Spark takes a Python source's offsets for new ones if only the order of their keys differs, and runs empty batches.
#
# Software: PySpark 4.2.0 with pyarrow 26.0.1 and pandas 2.3.3 on Java 17 or later; Python 3.10 or later.
# Expected: latestOffset() returns a dict, and one that equals the last batch's end says that there is nothing to read,
#   so that a query waits. Equal dicts are equal in Python and as JSON objects. Spark's own source of Kafka sorts its
#   partitions before it writes them down.
# Seen: Spark compares the texts that json.dumps makes of them, in the order of insertion. A source that builds its dict
#   from a set, or from an answer that lists partitions in any order, starts a batch without rows whenever the order
#   differs. Each is planned, written to the checkpoint and handed to the sink. In one order there is none.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyspark==4.2.0 pyarrow==26.0.1 pandas==2.3.3
cd "$folder"
PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON'
import itertools
import os
import tempfile
import time

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition


class Reader(DataSourceStreamReader):
    """The reader of two partitions, which have two records each and get no more."""

    def __init__(self, options):
        self.orders = itertools.cycle(["ab", options["order"]])
        self.polls = options["polls"]

    def initialOffset(self):
        return {"a": 0, "b": 0}

    def latestOffset(self):
        with open(self.polls, "a") as polls:
            polls.write(".")
        return {partition: 2 for partition in next(self.orders)}

    def partitions(self, start, end):
        return [InputPartition((start, end))]

    def read(self, partition):
        start, end = partition.value
        return ((name, offset) for name in sorted(end) for offset in range(start[name], end[name]))


class Source(DataSource):
    @classmethod
    def name(cls):
        return "partitioned"

    def schema(self):
        return "name string, offset int"

    def streamReader(self, schema):
        return Reader(self.options)


def batches(order):
    """The rows of each batch while the source is polled twenty times, with its keys in this order each second time."""
    polls, rows = os.path.abspath(f"polls-{order}"), []
    open(polls, "w").close()
    source = spark.readStream.format("partitioned").option("order", order).option("polls", polls).load()
    writer = source.writeStream.foreachBatch(lambda batch, _: rows.append(batch.count()))
    query = writer.option("checkpointLocation", tempfile.mkdtemp(dir=".")).trigger(processingTime="0 seconds").start()
    end = time.monotonic() + 300
    while query.isActive and os.path.getsize(polls) < 20 and time.monotonic() < end:
        query.awaitTermination(0.1)
    query.stop()
    return rows


spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.dataSource.register(Source)
same, other = batches("ab"), batches("ba")
print(f"PySpark {pyspark.__version__}, rows per batch: keys in one order {same}, in two {other}")
assert same == [4] and other[0] == 4 and len(other) >= 10 and not any(other[1:]), "the behaviour has changed"
PYTHON
