"""What a batch write says when commit() fails: whether it may be repeated. No Spark runs, and no broker."""

from __future__ import annotations

import socket

import pytest
from pyspark.sql.types import BinaryType, StructType

from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.messages import Prepared
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.spark_sink.batch_writer import new_batch_writer
from pyspark_barnabas.spark_sink.messages import TaskMessage


def _failed_commit(**options: str) -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"  # where nobody listens once this is closed
    timeouts = {"kafka.request.timeout.ms": "200", "kafka.delivery.timeout.ms": "300"}
    given = {"kafka.bootstrap.servers": address, "topic": "t", **timeouts, **options}
    writer = new_batch_writer(given, StructType().add("value", BinaryType()), overwrite=False)
    message = TaskMessage(Prepared("write:k", "r", RunToken(1, 0), 0, 0, None))
    with pytest.raises(SinkFailed) as failed:
        writer.commit([message])
    return str(failed.value)


def test_a_failed_write_without_a_key_warns_of_saving_again() -> None:
    assert "idempotencyKey: saving again is another write" in _failed_commit()


def test_a_failed_write_with_a_key_may_be_saved_again() -> None:
    assert "saving again" not in _failed_commit(idempotencykey="k")
