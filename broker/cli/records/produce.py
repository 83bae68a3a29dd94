"""`barnabas produce`: every line of a file or of stdin becomes a record.

Lines that are typed or arrive slowly are sent at once, a file in large batches. Success is reported only after the
acknowledgement: the exit status is 0 only if every record was acknowledged.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.lines import lines_as_they_come
from barnabas.broker.cli.terminal.options import Parser, assignment, connected, shared_options, whole
from barnabas.broker.cli.terminal.output import ProgressCounter, counted, print_json
from barnabas.client.client import Client
from barnabas.client.produce.batching import Delivery
from barnabas.client.produce.producer import Producer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.compression import COMPRESSION_IDS

ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}
_LEVELS = {"gzip": range(-1, 10), "lz4": range(1, 18), "zstd": range(-131_072, 23)}
_SETTLE_EVERY = 50_000  # records
_TOPIC_PATIENCE_MS = 5_000  # the time for a newly requested topic to be created


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_intermixed_args(arguments)  # TOPIC, options, FILE in any order
    _check_level(options)
    with _input(options.file) as descriptor, connected(options) as client:
        _check_topic(client, options)
        totals = _produce(client, options, descriptor)
    if options.json:
        print_json(totals.as_json(options.topic))
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas produce",
        description="Write the lines of a file or of stdin to a topic.",
        parents=shared_options(),
    )
    top.add_argument("topic", metavar="TOPIC")
    top.add_argument("file", metavar="FILE", nargs="?", help="default: stdin, also as `-`")
    top.add_argument("--key-separator", metavar="TEXT", help="the text before it in a line is the record's key")
    top.add_argument("--null-value", metavar="TEXT", help="a value equal to this becomes null (a tombstone)")
    top.add_argument(
        "--header",
        action="append",
        type=assignment,
        default=[],
        metavar="KEY=VALUE",
        help="a header of every record; may be repeated",
    )
    top.add_argument("--compression", choices=list(COMPRESSION_IDS), default="none", help="default none")
    top.add_argument("--compression-level", type=int, metavar="N", help="gzip -1 to 9, lz4 1 to 17, zstd -131072 to 22")
    top.add_argument(
        "--acks",
        choices=list(ACKS),
        default="all",
        help="the replicas that must have a record before it is acknowledged: default all",
    )
    top.add_argument("--partition", type=whole, metavar="N", help="default: by the key, as Kafka's clients choose")
    top.add_argument("--timestamp", type=whole, metavar="MS", help="of every record; default: now")
    top.add_argument("--no-idempotence", action="store_true", help="a retry may then write a record twice")
    return top


def _check_level(options: argparse.Namespace) -> None:
    levels = _LEVELS.get(options.compression)
    if options.compression_level is None:
        return
    if levels is None:
        raise UsageError(f"produce: --compression {options.compression} has no levels")
    if options.compression_level not in levels:
        raise UsageError(f"produce: --compression-level of {options.compression} is {levels[0]} to {levels[-1]}")


class Totals:
    """The acknowledged records and their offsets. Stores the deliveries of records that are not acknowledged yet."""

    def __init__(self) -> None:
        self.records = 0
        self.bytes = 0
        self.offsets: dict[int, tuple[int, int]] = {}
        self._waiting: list[Delivery] = []
        self._settle_at = _SETTLE_EVERY

    def add(self, delivery: Delivery, size: int) -> None:
        """Count a record that was sent."""
        self.records += 1
        self.bytes += size
        self._waiting.append(delivery)
        if len(self._waiting) >= self._settle_at:
            self.settle()

    def settle(self) -> None:
        """Take over the offsets of the deliveries that are acknowledged by now."""
        still: list[Delivery] = []
        for delivery in self._waiting:
            if delivery.offset is None:
                still.append(delivery)
                continue
            first, _ = self.offsets.get(delivery.partition, (delivery.offset, 0))
            self.offsets[delivery.partition] = first, delivery.offset
        self._waiting = still
        self._settle_at = len(still) + _SETTLE_EVERY

    def as_json(self, topic: str) -> dict[str, object]:
        """Return the totals as a JSON object."""
        partitions = [
            {"partition": partition, "first_offset": first, "last_offset": last}
            for partition, (first, last) in sorted(self.offsets.items())
        ]
        return {"topic": topic, "records": self.records, "bytes": self.bytes, "partitions": partitions}


def _produce(client: Client, options: argparse.Namespace, descriptor: int) -> Totals:
    totals, progress = Totals(), ProgressCounter("records")
    headers = [(key, value.encode()) for key, value in options.header]
    producer = Producer(
        client,
        acks=ACKS[options.acks],
        idempotent=not options.no_idempotence,
        compression=options.compression,
        level=options.compression_level,
    )
    separator = None if options.key_separator is None else os.fsencode(options.key_separator)
    null_value = None if options.null_value is None else os.fsencode(options.null_value)
    try:
        for number, line in _numbered(descriptor, producer):
            key, value = _key_and_value(line, separator, number)
            sent = None if value == null_value and null_value is not None else value
            delivery = producer.send(
                options.topic,
                sent,
                key=key,
                headers=headers,
                timestamp=options.timestamp,
                partition=options.partition,
            )
            if producer.failure is not None:
                raise producer.failure  # stop reading input as soon as a record is lost
            totals.add(delivery, len(line))
            progress.update(number)
        producer.flush()
    finally:
        progress.close()
    totals.settle()
    return totals


def _numbered(descriptor: int, producer: Producer) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers from 1; flush the sent records while no more input arrives."""
    number = 0
    for lines in lines_as_they_come(descriptor):
        if not lines:
            producer.flush()
        for line in lines:
            number += 1
            yield number, line


def _key_and_value(line: bytes, separator: bytes | None, number: int) -> tuple[bytes | None, bytes]:
    if separator is None:
        return None, line
    key, found, value = line.partition(separator)
    if not found:
        raise UsageError(f"produce: line {number} has no key separator {os.fsdecode(separator)!r}")
    return key, value


def _check_topic(client: Client, options: argparse.Namespace) -> None:
    """Refuse impossible options before the first line is read; wait for a topic that the broker creates on request."""
    if options.key_separator == "":
        raise UsageError("produce: --key-separator is empty")
    deadline = client.deadline(min(_TOPIC_PATIENCE_MS, options.request_timeout_ms))

    def attempt() -> int:
        found = client.refresh([options.topic], deadline, auto_create=True)
        return len(found.topic(options.topic).partitions)

    partitions = client.with_retries(attempt, deadline)
    if options.partition is not None and options.partition >= partitions:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"topic {options.topic!r} has {counted(partitions, 'partition')}, "
            f"there is no partition {options.partition}",
        )


@contextmanager
def _input(file: str | None) -> Iterator[int]:
    if file is None or file == "-":
        if sys.stdin is None:
            raise UsageError("produce: stdin is closed: give a FILE")
        yield sys.stdin.fileno()
        return
    with open(file, "rb", buffering=0) as opened:
        yield opened.fileno()
