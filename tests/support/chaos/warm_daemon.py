"""PySpark's daemon, with what its workers import imported before they are forked: a worker then costs milliseconds."""

import pyarrow
import pyspark.sql.worker.plan_data_source_read
import pyspark.sql.worker.python_streaming_sink_runner
import pyspark.sql.worker.write_into_data_source
from pyspark.daemon import manager

import pyspark_barnabas.sink.driver
import pyspark_barnabas.sink.encoding.arrow_batches
import pyspark_barnabas.sink.task
import tests.support.chaos.source

IMPORTED = (pyarrow, pyspark, pyspark_barnabas, tests)

if __name__ == "__main__":
    manager()
