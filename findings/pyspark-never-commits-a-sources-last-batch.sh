#!/bin/sh
# Spark calls commit() of a Python source for a batch when the next one begins: for the last of a query it never does.
#
# Software: PySpark 4.2.0 with pyarrow 26.0.1 and pandas 2.3.3 on Java 17 or later; Python 3.10 or later.
# Expected: commit(end) "informs the source that Spark has completed processing all data" up to there, so that it
#   follows each batch: a source can commit the offsets of a consumer group in it, or acknowledge what was read.
# Seen: a query that has read all records has not committed its last batch, however often it asks for more. With
#   availableNow, as scheduled jobs run, two of three batches are committed, and none where the source has one. The
#   group's lag stays, and a queue hands the records out again. A second run without new records commits nothing.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyspark==4.2.0 pyarrow==26.0.1 pandas==2.3.3
cd "$folder"
PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON'
import os
import tempfile
import time

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow


class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a partition with so many records, a batch for each, which notes Spark's calls."""

    def __init__(self, options):
        self.records, self.calls = int(options["records"]), options["calls"]

    def note(self, call):
        with open(self.calls, "a") as calls:
            print(call, file=calls)

    def prepareForTriggerAvailableNow(self):
        pass

    def initialOffset(self):
        return {"offset": 0}

    def latestOffset(self, start, limit):
        self.note(f"asked at {start['offset']}")
        return {"offset": min(start["offset"] + 1, self.records)}

    def partitions(self, start, end):
        return [InputPartition((start, end))]

    def read(self, partition):
        start, end = partition.value
        return ((offset,) for offset in range(start["offset"], end["offset"]))

    def commit(self, end):
        self.note(f"commit {end['offset']}")


class Source(DataSource):
    @classmethod
    def name(cls):
        return "noting"

    def schema(self):
        return "offset int"

    def streamReader(self, schema):
        return Reader(self.options)


def committed(records, checkpoint, **trigger):
    """What is committed in a run that reads all records, and is idle until it has asked for more ten times."""
    calls, read = tempfile.mktemp(dir=os.getcwd()), []
    open(calls, "w").close()
    source = spark.readStream.format("noting").option("records", records).option("calls", calls).load()
    writer = source.writeStream.foreachBatch(lambda batch, _: read.extend(row.offset for row in batch.collect()))
    query = writer.option("checkpointLocation", checkpoint).trigger(**trigger).start()
    end, lines = time.monotonic() + 300, []
    while not query.awaitTermination(0.1) and lines.count(f"asked at {records}") < 10 and time.monotonic() < end:
        with open(calls) as noted:
            lines = noted.read().splitlines()
    query.stop()
    with open(calls) as noted:
        return read, [int(line.split()[1]) for line in noted if line.startswith("commit")]


spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.dataSource.register(Source)
checkpoint = tempfile.mkdtemp(dir=".")
seen = {
    "idle": committed(3, tempfile.mkdtemp(dir="."), processingTime="0 seconds"),
    "availableNow": committed(3, checkpoint, availableNow=True),
    "availableNow again": committed(3, checkpoint, availableNow=True),
    "availableNow, one batch": committed(1, tempfile.mkdtemp(dir="."), availableNow=True),
}
for run, (read, commits) in seen.items():
    print(f"PySpark {pyspark.__version__}, {run}: read {read}, committed {commits}")
three = ([0, 1, 2], [1, 2])
assert list(seen.values()) == [three, three, ([], []), ([0], [])], "the behaviour has changed"
PYTHON
