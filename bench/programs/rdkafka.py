"""Load from librdkafka, one program a workload, each run in a process of its own: prints one line of JSON.

The client is stock (confluent-kafka); settings that differ from its defaults are only those the workload names,
except the consumer's queue sizes: with librdkafka's own the consumer pauses for fetch.queue.backoff.ms and the
benchmark would measure that pause.
"""

import argparse
import json
import statistics
import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

BIG_QUEUES = {"queued.min.messages": 1_000_000, "queued.max.messages.kbytes": 1_048_576, "fetch.queue.backoff.ms": 10}


def _broker(options: argparse.Namespace) -> dict[str, Any]:
    """Return the broker's address and the security settings."""
    return {"bootstrap.servers": f"127.0.0.1:{options.port}", **json.loads(options.client_settings)}


def percentile(values: list[float], share: float) -> float:
    """Return the value below which `share` of the sorted values lie."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def produce(options: argparse.Namespace) -> dict[str, Any]:
    """Run W1 to W3: as many messages as possible in the time, or `count` of them; idempotent, acks=all.

    The first message, which waits for the producer's id, is acknowledged before the clock starts. All that were sent
    are acknowledged before it stops.
    """
    failures: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer(
        {
            **_broker(options),
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 5,
            "batch.size": options.batch_size,
            "batch.num.messages": 1_000_000,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 65_536,
        }
    )
    value = b"x" * options.size
    producer.produce(options.topic, value, on_delivery=delivered)
    if producer.flush(30):
        raise SystemExit("the first message was not acknowledged in 30 s")
    start = time.perf_counter()
    stop = start + options.seconds
    sent = 0
    while time.perf_counter() < stop and (not options.count or sent < options.count):
        for _ in range(500):
            while True:
                try:
                    producer.produce(options.topic, value, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.01)
            sent += 1
        producer.poll(0)
    left = producer.flush(60)
    elapsed = time.perf_counter() - start
    if failures or left:
        raise SystemExit(f"{len(failures)} failed ({failures[:1]}), {left} unsent")
    megabytes = sent * options.size / 1e6
    return {
        "messages": sent,
        "per_second": sent / elapsed,
        "megabytes": megabytes,
        "mb_per_second": megabytes / elapsed,
    }


def sync(options: argparse.Namespace) -> dict[str, Any]:
    """Run W5: one message at a time, each waited for."""
    producer = Producer({**_broker(options), "enable.idempotence": True, "acks": "all", "linger.ms": 0})
    value = b"x" * options.size
    producer.produce(options.topic, value)
    producer.flush(30)
    latencies = []
    start = time.perf_counter()
    stop = start + options.seconds
    while (before := time.perf_counter()) < stop:
        producer.produce(options.topic, value)
        if producer.flush(30):
            raise SystemExit("a message was not acknowledged in 30 s")
        latencies.append((time.perf_counter() - before) * 1e6)
    elapsed = time.perf_counter() - start
    return {
        "requests": len(latencies),
        "per_second": len(latencies) / elapsed,
        "p50_us": percentile(latencies, 0.50),
        "p99_us": percentile(latencies, 0.99),
    }


def transactions(options: argparse.Namespace) -> dict[str, Any]:
    """Run one transactional producer: `count` messages a transaction, each committed before the next begins. The first
    is committed before the clock starts.
    """
    producer = Producer({**_broker(options), "transactional.id": options.topic, "linger.ms": 0})
    producer.init_transactions(60)
    value = b"x" * options.size
    producer.begin_transaction()
    producer.produce(options.topic, value)
    producer.commit_transaction(30)
    whole: list[float] = []
    commits: list[float] = []
    start = time.perf_counter()
    stop = start + options.seconds
    while (before := time.perf_counter()) < stop:
        producer.begin_transaction()
        for _ in range(options.count):
            producer.produce(options.topic, value)
        if producer.flush(30):
            raise SystemExit("a message was not acknowledged in 30 s")
        flushed = time.perf_counter()
        producer.commit_transaction(30)
        after = time.perf_counter()
        whole.append((after - before) * 1e6)
        commits.append((after - flushed) * 1e6)
    elapsed = time.perf_counter() - start
    return {
        "transactions": len(whole),
        "per_second": len(whole) / elapsed,
        "p50_us": percentile(whole, 0.50),
        "p99_us": percentile(whole, 0.99),
        "commit_p50_us": percentile(commits, 0.50),
        "commit_p99_us": percentile(commits, 0.99),
    }


def consume(options: argparse.Namespace) -> dict[str, Any]:
    """Run W8: read a backlog of `count` messages from the start, repeatedly, for the given time. The clock runs from
    the first message of a pass to its last.
    """
    consumer = Consumer(
        {
            **_broker(options),
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,  # only at the end of the backlog, between two passes
        }
        | BIG_QUEUES
    )
    total, size, elapsed = 0, 0, 0.0
    while elapsed < options.seconds:
        consumer.assign([TopicPartition(options.topic, 0, 0)])
        first = consumer.poll(30)
        if first is None:
            raise SystemExit("no message came in 30 s")
        got = 1
        start = time.perf_counter()
        while got < options.count:
            for message in consumer.consume(min(5000, options.count - got), timeout=10):
                if message.error():
                    raise SystemExit(str(message.error()))
                got += 1
                size += len(message.value() or b"")
        elapsed += time.perf_counter() - start
        total += got - 1
    consumer.close()
    return {
        "messages": total,
        "per_second": total / elapsed,
        "megabytes": size / 1e6,
        "mb_per_second": size / 1e6 / elapsed,
    }


def latency(options: argparse.Namespace) -> dict[str, Any]:
    """Run W9: from produce() to the consumer's poll(), at a steady `rate` of messages a second."""
    consumer = Consumer(
        {
            **_broker(options),
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 500,
        }
    )
    producer = Producer({**_broker(options), "enable.idempotence": True, "linger.ms": 0})
    warm = 50
    wanted = warm + int(options.rate * options.seconds)
    end = consumer.get_watermark_offsets(TopicPartition(options.topic, 0), timeout=30)[1]
    consumer.assign([TopicPartition(options.topic, 0, end)])
    latencies: list[float] = []

    def receive() -> None:
        for _ in range(wanted):
            message = consumer.poll(30)
            if message is None or message.error():
                return
            latencies.append((time.perf_counter_ns() - int(message.value() or b"0")) / 1e3)

    reader = threading.Thread(target=receive)
    reader.start()
    start = time.perf_counter()
    for number in range(wanted):
        due = start + number / options.rate
        if (left := due - time.perf_counter()) > 0:
            time.sleep(left)  # noqa: TID251  # the rate of the load
        producer.produce(options.topic, str(time.perf_counter_ns()).encode())
        producer.poll(0)
    producer.flush(30)
    reader.join(60)
    consumer.close()
    if len(latencies) != wanted:
        raise SystemExit(f"{len(latencies)} of {wanted} messages came back")
    measured = latencies[warm:]
    return {
        "messages": len(measured),
        "mean_us": statistics.fmean(measured),
        "p50_us": percentile(measured, 0.50),
        "p99_us": percentile(measured, 0.99),
    }


def tail(options: argparse.Namespace) -> dict[str, Any]:
    """Run W11's reader: follow all partitions from their ends for the given time, from the first message on; lag is
    from the message's own timestamp, in ms, so the producer's queue is part of it.
    """
    consumer = Consumer({**_broker(options), "group.id": "bench", "enable.auto.commit": False} | BIG_QUEUES)
    partitions = consumer.list_topics(options.topic, timeout=30).topics[options.topic].partitions
    consumer.assign([TopicPartition(options.topic, number, -1) for number in partitions])
    lags: list[float] = []
    size = 0
    if consumer.poll(30) is None:
        raise SystemExit("the tail reader saw nothing in 30 s")
    start = time.perf_counter()
    stop = start + options.seconds
    while time.perf_counter() < stop:
        messages = consumer.consume(500, timeout=0.1)
        now_ms = time.time() * 1000  # after the wait for them, which is part of the lag
        for message in messages:
            if message.error():
                raise SystemExit(str(message.error()))
            size += len(message.value() or b"")
            lags.append(now_ms - message.timestamp()[1])
    elapsed = time.perf_counter() - start
    consumer.close()
    if not lags:
        raise SystemExit("the tail reader saw one message")
    return {
        "mb_per_second": size / 1e6 / elapsed,
        "p50_ms": percentile(lags, 0.50),
        "p99_ms": percentile(lags, 0.99),
    }


PROGRAMS = {
    "produce": produce,
    "sync": sync,
    "transactions": transactions,
    "consume": consume,
    "latency": latency,
    "tail": tail,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=sorted(PROGRAMS))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=16384)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--client-settings", default="{}", help="more settings of librdkafka's, as JSON")
    parser.add_argument("--rate", type=float, default=1000)
    options = parser.parse_args()
    print(json.dumps(PROGRAMS[options.program](options)))


if __name__ == "__main__":
    main()
