#!/bin/sh
# OpenTelemetry's instrumentations of Kafka clients for Python add their header to the list that the program passed.
#
# Software: opentelemetry-instrumentation-confluent-kafka, -kafka-python and -aiokafka 0.66b1 with opentelemetry-sdk
#   1.45.1, confluent-kafka 2.16.1, kafka-python 3.0.12, aiokafka 0.14.0; franz-go's kfake
#   v0.0.0-20260918054303-01f206a7e32c as the broker; Python 3.10 and Go 1.26 or later.
# Expected: the trace context is put into the record that is sent. A list of headers that a program keeps for all of its
#   records, such as the service's name and version, stays as it is.
# Seen: each of the three appends "traceparent" to the caller's list, so the third record with one list has three of
#   them, and the thousandth a thousand. The instrumentations of the consumers take the first in a record, which is the
#   oldest: all records seem to belong to the trace of the first.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	topics := kfake.SeedTopics(1, "confluent-kafka", "kafka-python", "aiokafka")
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), topics)
	if err != nil {
		panic(err)
	}
	fmt.Println(cluster.ListenAddrs()[0])
	io.Copy(io.Discard, os.Stdin) // until it is closed
}
GO
cat > finding.py <<'PY'
import asyncio
import subprocess
import sys

import aiokafka
import confluent_kafka
import kafka
from opentelemetry import trace
from opentelemetry.instrumentation.aiokafka import AIOKafkaInstrumentor
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor
from opentelemetry.instrumentation.confluent_kafka.utils import KafkaContextGetter
from opentelemetry.instrumentation.kafka import KafkaInstrumentor
from opentelemetry.propagate import extract
from opentelemetry.sdk.trace import TracerProvider


def confluent(servers, headers):
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "log_level": 4})
    for _ in range(3):
        producer.produce("confluent-kafka", b"value", headers=headers)
        producer.flush()


def python(servers, headers):
    producer = kafka.KafkaProducer(bootstrap_servers=servers)
    for _ in range(3):
        producer.send("kafka-python", b"value", headers=headers).get(30)
    producer.close()


def asynchronous(servers, headers):
    async def send():
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers) as producer:
            for _ in range(3):
                await producer.send_and_wait("aiokafka", b"value", headers=headers)

    asyncio.run(send())


def received(consumer_class, servers, topic):
    """How often each of the topic's three records has the header, and the traces which they are taken to belong to."""
    settings = {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest", "log_level": 4}
    consumer = consumer_class(settings)
    consumer.subscribe([topic])
    counts, traces = [], set()
    while len(counts) < 3:
        message = consumer.poll(10)
        if message is not None and not message.error():
            counts.append([key for key, _ in message.headers()].count("traceparent"))
            context = extract(message.headers(), getter=KafkaContextGetter())
            traces.add(trace.get_current_span(context).get_span_context().trace_id)
    consumer.close()
    return counts, len(traces)


uninstrumented = confluent_kafka.Consumer
trace.set_tracer_provider(TracerProvider())
for instrumentor in (ConfluentKafkaInstrumentor(), KafkaInstrumentor(), AIOKafkaInstrumentor()):
    instrumentor.instrument()
seen = []
with subprocess.Popen(["./broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
    servers = broker.stdout.readline().strip()
    for topic, send in {"confluent-kafka": confluent, "kafka-python": python, "aiokafka": asynchronous}.items():
        headers = [("service", b"orders")]
        send(servers, headers)
        counts, traces = received(uninstrumented, servers, topic)
        print(f"{topic}: {len(headers)} headers in the caller's list, traceparent per record {counts}, {traces} trace")
        seen.append((len(headers), counts, traces))
    broker.stdin.close()
if seen != [(4, [1, 2, 3], 1)] * 3:
    print("the behaviour has changed")
    sys.exit(1)
PY
go mod init broker 2>log
go get github.com/twmb/franz-go@v1.22.3 github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go build -o broker .
python3 -m venv environment
environment/bin/pip install --quiet confluent-kafka==2.16.1 kafka-python==3.0.12 aiokafka==0.14.0 \
    opentelemetry-sdk==1.45.1 opentelemetry-instrumentation-confluent-kafka==0.66b1 \
    opentelemetry-instrumentation-kafka-python==0.66b1 opentelemetry-instrumentation-aiokafka==0.66b1 2>>log \
    || { cat log; exit 1; }
environment/bin/python finding.py
