"""The duration of commit() without Spark: tasks of one row each prepare, then the driver decides and ends."""

import statistics
import time

from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.spark.sink_query import Query, rows

_WARMING = 5


def commit_ms(address: str, topic: str, tasks: int, batches: int) -> dict[str, float]:
    """Return the median commit of so many batches in a row, in ms; each task writes to a separate partition."""
    query = Query(SinkSettings(ConnectionSettings(address), topic=topic, prefix=f"commits-of-{topic}"))
    taken: list[float] = []
    for batch_id in range(_WARMING + batches):
        messages = query.write(batch_id, [rows(["v"], partition=[partition]) for partition in range(tasks)])
        started = time.perf_counter()
        query.commit(batch_id, messages)
        taken.append((time.perf_counter() - started) * 1000)
    return {"commit_ms": statistics.median(taken[_WARMING:])}
