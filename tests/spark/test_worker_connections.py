"""Everything that Spark pickles to its tasks asks for acknowledgements without delay."""

import pytest

from pyspark_barnabas.source.readers.batch_reader import BatchReader
from pyspark_barnabas.source.readers.limited_stream_reader import LimitedStreamReader
from pyspark_barnabas.source.readers.stream_reader import StreamReader
from pyspark_barnabas.source.segments.reader import SegmentReader
from pyspark_barnabas.spark_sink.batch_writer import BatchWriter
from pyspark_barnabas.spark_sink.for_each_batch import _Prepare
from pyspark_barnabas.spark_sink.stream_writer import StreamWriter
from pyspark_barnabas.worker.worker_connections import SentToWorkers


@pytest.mark.parametrize(
    "kind", [BatchReader, StreamReader, LimitedStreamReader, SegmentReader, BatchWriter, StreamWriter, _Prepare]
)
def test_a_call_of_a_task_is_received_without_delay(kind: type) -> None:
    assert issubclass(kind, SentToWorkers)
    assert kind.__setstate__ is SentToWorkers.__setstate__
