#!/bin/sh
# With a continuous trigger Spark hands the commit() of a Python sink None in place of each task's message.
#
# Software: PySpark 4.2.0 with pyarrow 26.0.1 and pandas 2.3.3 on Java 17 or later; Python 3.10 or later.
# Expected: commit() gets what write() of each task returned, as with every other trigger, or the trigger is refused to
#   Python sinks, as update mode is. It is accepted, and the rows of all tasks are written, but a sink that commits what
#   the messages name (files, transactions) commits nothing, epoch after epoch.
# Seen: [None, None] from the tasks of one epoch after the other, although each write() returned a message.
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
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

CALLS = os.environ["CALLS"] = os.path.abspath("calls")


class Writer(DataSourceStreamWriter):
    def write(self, rows):
        list(rows)
        return WriterCommitMessage()

    def commit(self, messages, batch):
        with open(os.environ["CALLS"], "a") as calls:
            print(messages, file=calls)


class Source(DataSource):
    @classmethod
    def name(cls):
        return "noting"

    def streamWriter(self, schema, overwrite):
        return Writer()


spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.dataSource.register(Source)
writer = spark.readStream.format("rate").load().writeStream.format("noting")
query = writer.option("checkpointLocation", tempfile.mkdtemp(dir=".")).trigger(continuous="1 second").start()
seen = []
deadline = time.monotonic() + 300
while len(seen) < 2 and time.monotonic() < deadline:
    query.awaitTermination(1)
    if os.path.exists(CALLS):
        with open(CALLS) as calls:
            seen = calls.read().splitlines()
query.stop()
print(f"PySpark {pyspark.__version__}: {seen[:2]}")
assert seen[:2] == ["[None, None]", "[None, None]"], "the behaviour has changed"
PYTHON
