#!/bin/sh
# An error of a Python data source's streamReader() is reported as UnboundLocalError, with the real one above it.
#
# Software: PySpark 4.2.0 with pyarrow 26.0.1 and pandas 2.3.3 on Java 17 or later; Python 3.10 or later.
# Expected: the query's error ends with what the data source raised, as it does where schema() or reader() of a batch
#   raises. The runner's clean-up asks for a reader that was never made, so the last line, which programs and people
#   look at, is about a variable in Spark. A source whose message is to be seen must raise it later, or in schema().
# Seen: "ValueError: the option topic is missing", then "UnboundLocalError: … local variable 'reader' …".
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyspark==4.2.0 pyarrow==26.0.1 pandas==2.3.3
cd "$folder"
PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON'
import tempfile

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource


class Source(DataSource):
    @classmethod
    def name(cls):
        return "refusing"

    def schema(self):
        return "value string"

    def streamReader(self, schema):
        raise ValueError("the option topic is missing")


spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.dataSource.register(Source)
writer = spark.readStream.format("refusing").load().writeStream.format("noop")
try:
    writer.option("checkpointLocation", tempfile.mkdtemp(dir=".")).start().awaitTermination(300)
    text = ""
except pyspark.errors.StreamingQueryException as error:
    text = str(error)
seen = [line for line in text.splitlines() if line.startswith(("ValueError", "UnboundLocalError"))]
print(f"PySpark {pyspark.__version__}: {seen}")
assert seen[0] == "ValueError: the option topic is missing", "the behaviour has changed"
assert seen[-1].startswith("UnboundLocalError:") and "'reader'" in seen[-1], "the behaviour has changed"
PYTHON
