"""kafka-console-producer."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.broker.cli.kafka.flags import (
    ALONE,
    MAYBE_VALUE,
    VALUE,
    CommandRefused,
    Options,
    client_properties,
    cluster,
    error_text,
    need,
    pairs,
    read,
    says_version,
)
from barnabas.broker.cli.records.produce import ACKS
from barnabas.broker.cli.terminal.lines import lines_as_they_come
from barnabas.client.produce.producer import Producer
from barnabas.client.security.client_properties import read_properties
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.compression import COMPRESSION_IDS

_TUNING = ["batch-size", "timeout", "max-block-ms", "max-memory-bytes", "max-partition-memory-bytes"]
_TUNING += ["message-send-max-retries", "metadata-expiry-ms", "request-timeout-ms", "retry-backoff-ms"]
_TUNING += ["socket-buffer-size"]
"""The tuning of a Java client: numbers without effect here."""
_READER = "org.apache.kafka.tools.LineMessageReader"
_FLAGS = {
    **dict.fromkeys(["topic", "property", "reader-property", "producer-property", "command-property"], VALUE),
    **dict.fromkeys(["producer.config", "reader-config", "line-reader", "request-required-acks", *_TUNING], VALUE),
    "compression-codec": MAYBE_VALUE,
    "sync": ALONE,
    "broker-list": VALUE,
}
_SETTINGS = ("acks", "compression.type", "enable.idempotence")
_PURPOSE = "This tool helps to read data from standard input and publish it to Kafka."
_SEPARATORS = {
    "key.separator": "\t",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
}
_TOPIC_PATIENCE_MS = 5_000  # the time for a newly requested topic to be created


class TypedRecord(NamedTuple):
    """The record of one line."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class LineReader:
    """Parses `headers<delimiter>key<separator>value`; properties select the parts."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._has_key, self._has_headers, self._is_lenient = (
            properties.get(name, "").strip().lower() == "true"
            for name in ("parse.key", "parse.headers", "ignore.error")
        )
        chosen = {name: properties.get(name, default) for name, default in _SEPARATORS.items()}
        self._null = properties.get("null.marker")
        _check_apart({**chosen, "null.marker": self._null})
        self._key, self._delimiter, self._header, self._header_key = chosen.values()

    def record(self, line: str, number: int) -> TypedRecord:
        """Return the record. CommandRefused if a separator is missing, unless errors are ignored."""
        headers, rest = self._cut(self._has_headers, line, self._delimiter, "headers delimiter", number, line)
        key, value = self._cut(self._has_key, rest, self._key, "key separator", number, line)
        has_headers = headers is not None and headers != self._null
        return TypedRecord(
            None if key is None else self._bytes(key),
            self._bytes(value),
            [self._pair(each, number) for each in (headers or "").split(self._header)] if has_headers else [],
        )

    def _cut(
        self, is_there: bool, text: str, separator: str, name: str, number: int, line: str
    ) -> tuple[str | None, str]:
        if not is_there:
            return None, text
        before, found, after = text.partition(separator)
        if found:
            return before, after
        if self._is_lenient:
            return None, text
        raise CommandRefused(f"No {name} found on line number {number}: '{line}'")

    def _pair(self, text: str, number: int) -> tuple[str, bytes | None]:
        key, found, value = text.partition(self._header_key)
        if not found:
            if self._is_lenient:
                return text, None
            raise CommandRefused(f"No header key separator found in pair '{text}' on line number {number}")
        if key == self._null:
            what = f"Header keys should not be equal to the null marker '{self._null}' as they can't be null"
            raise CommandRefused(what)
        return key, self._bytes(value)

    def _bytes(self, text: str) -> bytes | None:
        return None if text == self._null else os.fsencode(text)


def _check_apart(marks: dict[str, str | None]) -> None:
    """Raise CommandRefused for an empty separator, and for two equal ones that may occur together."""
    for one, other in (
        ("headers.delimiter", "headers.separator"),
        ("headers.delimiter", "headers.key.separator"),
        ("headers.separator", "headers.key.separator"),
        *(("null.marker", name) for name in _SEPARATORS),
    ):
        if marks[one] is not None and marks[one] == marks[other]:
            raise CommandRefused(f"{one} and {other} may not be equal")
    if empty := [name for name in _SEPARATORS if not marks[name]]:
        raise CommandRefused(f"{empty[0]} is empty")


def kafka_console_producer(arguments: Sequence[str]) -> int:
    """Write every line of stdin as a record."""
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    need(options, "topic")
    if not options.has("bootstrap-server"):
        raise CommandRefused("Error while validating the bootstrap address")
    for flag in _TUNING:
        options.number(flag)
    if options.value("line-reader") not in (None, _READER):
        raise CommandRefused(f"{options.value('line-reader')}: only Kafka's own line reader is available here")
    reader = LineReader(_reader_properties(options))
    try:
        return _produce(options, reader)
    except KafkaError as error:
        raise CommandRefused(error_text(error)) from error


def _reader_properties(options: Options) -> dict[str, str]:
    path = options.value("reader-config")
    in_file = {} if path is None else read_properties(path)
    return {**in_file, **pairs([*options.values("property"), *options.values("reader-property")])}


def _produce(options: Options, reader: LineReader) -> int:
    file_flag = "producer.config" if options.has("producer.config") else "command-config"
    flags = ("producer-property", "command-property")
    settings = client_properties(options, flags, file_flag, "kafka-console-producer")
    topic = options.value("topic") or ""
    with cluster(options, file_flag, also_known=_SETTINGS) as client:
        patience = client.deadline(_TOPIC_PATIENCE_MS)
        client.with_retries(lambda: client.refresh([topic], patience, auto_create=True).topic(topic), patience)
        producer = Producer(
            client,
            acks=ACKS[_one_of(ACKS, options.value("request-required-acks") or settings.get("acks", "all"))],
            idempotent=settings.get("enable.idempotence") != "false",
            compression=_compression(options, settings),
        )
        try:
            _send_lines(producer, reader, topic)
        finally:
            producer.flush()  # lines before an invalid one are records
    return 0


def _send_lines(producer: Producer, reader: LineReader, topic: str) -> None:
    number = 0
    for lines in lines_as_they_come(sys.stdin.fileno()):
        if not lines:
            producer.flush()
            if sys.stdin.isatty():
                print(">", end="", flush=True)
        for line in lines:
            number += 1
            record = reader.record(os.fsdecode(line), number)
            producer.send(topic, record.value, key=record.key, headers=record.headers)
            if producer.failure is not None:
                raise producer.failure


def _compression(options: Options, settings: dict[str, str]) -> str:
    if options.has("compression-codec"):
        return _one_of(COMPRESSION_IDS, options.value("compression-codec") or "gzip")
    return _one_of(COMPRESSION_IDS, settings.get("compression.type", "none"))


def _one_of(known: dict[str, int], word: str) -> str:
    if word not in known:
        raise CommandRefused(f"{word} is not one of {', '.join(known)}")
    return word
