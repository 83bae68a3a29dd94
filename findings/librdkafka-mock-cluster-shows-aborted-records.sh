#!/bin/sh
# librdkafka's mock cluster gives aborted and open records to a reader with isolation.level=read_committed.
#
# Software: confluent-kafka 2.16.1 with librdkafka 2.16.0 (test.mock.num.brokers).
# Expected: as from a broker, a record of an aborted transaction is never delivered, and one of an open transaction
#   waits for its end. The mock cluster answers InitProducerId, AddPartitionsToTxn and EndTxn without an error, so a
#   test of a transactional program passes there although its records are read before, and without, a commit.
# Seen: (0, 'aborted'), (2, 'committed'), (4, 'open'). An offset is left out behind each end, as for a control record.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install confluent-kafka==2.16.1
"$folder/venv/bin/python" - <<'PYTHON'
from confluent_kafka import Consumer, Producer, TopicPartition, libversion, version

producer = Producer({"test.mock.num.brokers": 1, "transactional.id": "writer", "log_level": 0})
producer.init_transactions(30)
(broker,) = producer.list_topics(timeout=30).brokers.values()
for value, end in (("aborted", producer.abort_transaction), ("committed", producer.commit_transaction), ("open", None)):
    producer.begin_transaction()
    producer.produce("topic", value, partition=0)
    assert producer.flush(30) == 0
    if end is not None:
        end(30)

settings = {"bootstrap.servers": f"{broker.host}:{broker.port}", "group.id": "reader"}
consumer = Consumer({**settings, "isolation.level": "read_committed"})
consumer.assign([TopicPartition("topic", 0, 0)])
seen = [(message.offset(), message.value().decode()) for message in consumer.consume(3, timeout=30)]
consumer.close()
print(f"confluent-kafka {version()}, librdkafka {libversion()[0]}: a reader of committed records sees {seen}")
assert seen == [(0, "aborted"), (2, "committed"), (4, "open")], "the behaviour has changed"
PYTHON
