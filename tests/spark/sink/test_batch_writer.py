"""What a batch write says when commit() fails: whether it may be repeated. No Spark runs."""

import pytest
from pyspark.sql.types import BinaryType, StringType, StructType

from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.messages import Prepared
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.spark_sink.batch_writer import new_batch_writer
from pyspark_barnabas.spark_sink.messages import TaskMessage
from tests.support.scripted.broker import ScriptedBroker


def _failed_commit(**options: str) -> str:
    timeouts = {"kafka.delivery.timeout.ms": "300"}  # of commit(): the planning has a broker to ask
    schema = StructType().add("value", BinaryType()).add("topic", StringType())
    with ScriptedBroker() as broker:  # which is there when the write is planned, and gone at its end
        given = {"kafka.bootstrap.servers": broker.address, **timeouts, **options}
        writer = new_batch_writer(given, schema, overwrite=False)
    message = TaskMessage(Prepared("write:k", "r", RunToken(1, 0), 0, 0, None))
    with pytest.raises(SinkFailed) as failed:
        writer.commit([message])
    return str(failed.value)


def test_a_failed_write_without_a_key_warns_of_saving_again() -> None:
    assert "idempotencyKey: saving again is another write" in _failed_commit()


def test_a_failed_write_with_a_key_may_be_saved_again() -> None:
    assert "saving again" not in _failed_commit(idempotencykey="k")
