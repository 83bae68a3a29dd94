#!/bin/sh
# Spark waits ten seconds for the Python process of a data source to start, which no setting changes; a UDF may take longer.
#
# Software: PySpark 4.2.0 with pyarrow 26.0.1 and pandas 2.3.3 on Java 17 or later; Python 3.10 or later.
# Expected: an interpreter that starts slowly (a busy machine, imports from a cold disk, a wrapper that prepares an
#   environment) is slow everywhere alike, and a setting such as spark.python.worker.* or a network timeout bounds it.
# Seen: with an interpreter that starts in 12 s, a UDF returns its rows. A streaming query with a Python data source
#   fails at its start: "Python worker failed to connect back", "Timed out while waiting for the Python worker to
#   connect back", although every timeout that has a setting is five minutes.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyspark==4.2.0 pyarrow==26.0.1 pandas==2.3.3
cat >"$folder/slow-python" <<WRAPPER
#!/bin/sh
sleep 12
exec "$folder/venv/bin/python" "\$@"
WRAPPER
chmod +x "$folder/slow-python"
cd "$folder"
PYSPARK_PYTHON="$folder/slow-python" PYSPARK_DRIVER_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON'
import tempfile
import time

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.functions import udf


class Reader(SimpleDataSourceStreamReader):
    def initialOffset(self):
        return {"offset": 0}

    def read(self, start):
        return iter([(start["offset"],)]), {"offset": start["offset"] + 1}

    def readBetweenOffsets(self, start, end):
        return iter([(offset,) for offset in range(start["offset"], end["offset"])])


class Source(DataSource):
    @classmethod
    def name(cls):
        return "counting"

    def schema(self):
        return "number int"

    def simpleStreamReader(self, schema):
        return Reader()


builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
for setting in ("spark.network.timeout", "spark.python.authenticate.socketTimeout"):
    builder = builder.config(setting, "300s")
spark = builder.getOrCreate()
added = spark.range(2).select(udf(lambda number: str(number + 1))("id").alias("added"))
print(f"PySpark {pyspark.__version__}: the UDF gives {[row.added for row in added.collect()]}")

try:
    spark.dataSource.register(Source)
    rows = spark.readStream.format("counting").load()
    query = rows.writeStream.format("noop").option("checkpointLocation", tempfile.mkdtemp(dir=".")).start()
    begun = time.monotonic()
    query.awaitTermination(300)
    failure = "none"
except Exception as error:
    failure = str(error)
seen = "Python worker failed to connect back" in failure
print(f"the query's failure has 'Python worker failed to connect back': {seen}")
assert seen, f"the behaviour has changed: {failure[:300]}"
PYTHON
