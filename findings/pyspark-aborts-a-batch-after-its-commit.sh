#!/bin/sh
# Spark calls abort() for a batch whose commit() of a Python sink has begun, and may be done, when commit() raises.
#
# Software: PySpark 4.2.0 with pyarrow 26.0.1 and pandas 2.3.3 on Java 17 or later; Python 3.10 or later.
# Expected: of the two calls of a DataSourceStreamWriter one comes for a batch, as "commit" and "abort" of a two-phase
#   commit do. Where the coordinator raises after it has committed (its answer was lost, perhaps), the same batch is
#   aborted: an abort() that removes what the batch wrote removes committed rows.
# Seen: commit of batch 0, then abort of batch 0 with the same messages; then the query ends.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyspark==4.2.0 pyarrow==26.0.1 pandas==2.3.3
cd "$folder"
PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON'
import os
import tempfile

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

CALLS = os.environ["CALLS"] = os.path.abspath("calls")


class Writer(DataSourceStreamWriter):
    def write(self, rows):
        list(rows)
        return WriterCommitMessage()

    def commit(self, messages, batch):
        self.note("commit", messages, batch)
        raise OSError("the answer to the commit was lost")

    def abort(self, messages, batch):
        self.note("abort", messages, batch)

    def note(self, call, messages, batch):
        with open(os.environ["CALLS"], "a") as calls:
            print(call, batch, [type(message).__name__ for message in messages], file=calls)


class Source(DataSource):
    @classmethod
    def name(cls):
        return "noting"

    def streamWriter(self, schema, overwrite):
        return Writer()


spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.dataSource.register(Source)
os.mkdir("input")
with open("input/lines", "w") as lines:
    lines.write("a row")
rows = spark.readStream.format("text").load("input")
query = rows.writeStream.format("noting").option("checkpointLocation", tempfile.mkdtemp(dir=".")).start()
try:
    query.awaitTermination(300)
except pyspark.errors.StreamingQueryException:
    pass
with open(CALLS) as calls:
    seen = calls.read().splitlines()
print(f"PySpark {pyspark.__version__}: {seen}")
assert seen == ["commit 0 ['WriterCommitMessage']", "abort 0 ['WriterCommitMessage']"], "the behaviour has changed"
PYTHON
