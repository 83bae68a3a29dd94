"""The durations of a sink's task and of commit() without Spark: tasks prepare, then the driver decides and ends."""

import statistics
import time

from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.spark.sink_query import Query, rows

_WARMING = 5


def task_ms(address: str, topic: str, partitions: int, batches: int) -> dict[str, float]:
    """Return the medians of a task that writes one row to each partition, in ms: its time, its own processor time.

    So it is nearly all beside its rows: the requests for its transaction, and a Produce for the partitions.
    """
    query = Query(SinkSettings(ConnectionSettings(address), topic=topic, prefix=f"tasks-of-{topic}"))
    part = rows(["v" * 100] * partitions, partition=list(range(partitions)))
    taken: list[tuple[float, float]] = []
    for batch_id in range(_WARMING + batches):
        started, processor = time.perf_counter(), time.process_time()
        messages = query.write(batch_id, [part])
        taken.append(((time.perf_counter() - started) * 1000, (time.process_time() - processor) * 1000))
        query.commit(batch_id, messages)
    times, processor_times = zip(*taken[_WARMING:], strict=True)
    return {"task_ms": statistics.median(times), "task_cpu_ms": statistics.median(processor_times)}


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
