"""What a StreamingQueryListener sees of the source and the sink."""

import json
import re
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from pyspark_barnabas import offsets_behind
from pyspark_barnabas.observing.lag import OffsetsBehind
from tests.support.clients import topics
from tests.support.processes.server import ROOT, Server
from tests.support.waiting import PATIENCE_S

ROWS, BATCH = 9, 6
_BLOCK = re.compile(r"```python\n(from pyspark.sql.streaming import StreamingQueryListener\n.*?)```", re.DOTALL)


def _listener(spark: SparkSession) -> Any:
    """The listener of docs/pipeline.md as it is written there."""
    (program,) = _BLOCK.findall((ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8"))
    added: list[StreamingQueryListener] = []
    exec(program, {"spark": SimpleNamespace(streams=SimpleNamespace(addListener=added.append))})
    return added[0]


def test_a_listener_sees_rows_and_how_far_behind_the_query_is(
    spark: SparkSession, server: Server, tmp_path: Path, capsys: Any
) -> None:
    topics.create(server.address, "heard", 1)
    topics.create(server.address, "heard-copy", 1)
    topics.send(server.address, "heard", (b"%d" % number for number in range(ROWS)))
    seen: Queue[Any] = Queue()
    listener = _listener(spark)
    said = listener.onQueryProgress

    def hear(event: Any) -> None:
        if event.progress.name != "heard":
            return  # of a query of another test, told late
        said(event)
        seen.put(event.progress)

    listener.onQueryProgress = hear
    spark.streams.addListener(listener)
    try:
        brokers = {"kafka.bootstrap.servers": server.address}
        source = spark.readStream.format("barnabas").options(
            **brokers, subscribe="heard", startingOffsets="earliest", maxOffsetsPerTrigger=str(BATCH)
        )
        writer = source.load().select("key", "value").writeStream.format("barnabas").options(**brokers)
        writer = writer.option("topic", "heard-copy").option("checkpointLocation", str(tmp_path)).queryName("heard")
        assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
        first, second = (seen.get(timeout=60) for _ in range(2))
    finally:
        spark.streams.removeListener(listener)
    assert offsets_behind(first) == [OffsetsBehind(ROWS - BATCH, ROWS - BATCH, ROWS - BATCH, ROWS - BATCH)]
    assert offsets_behind(second) == [OffsetsBehind(0, 0, 0.0, 0)]
    assert [json.loads(each.json)["sink"]["numOutputRows"] for each in (first, second)] == [BATCH, ROWS - BATCH]
    assert capsys.readouterr().out.splitlines() == [f"heard {ROWS - BATCH}", "heard 0"]
