"""kafka-console-producer."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import barnabas, pairs, parse, refuse_security, tool
from barnabas.broker.cli.terminal.failures import UsageError

_WITHOUT_EFFECT = ["batch-size", "timeout", "max-block-ms", "max-memory-bytes", "max-partition-memory-bytes"]
_WITHOUT_EFFECT += ["message-send-max-retries", "metadata-expiry-ms", "request-timeout-ms", "retry-backoff-ms"]
_WITHOUT_EFFECT += ["socket-buffer-size", "line-reader", "reader-config"]


def kafka_console_producer(arguments: Sequence[str]) -> int:
    """Every line of stdin is a record."""
    parser = tool("kafka-console-producer")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--property", "--reader-property", dest="reader", action="append", default=[])
    parser.add_argument("--producer-property", "--command-property", dest="producer", action="append", default=[])
    parser.add_argument("--compression-codec", nargs="?", const="gzip")
    parser.add_argument("--request-required-acks", "--acks", dest="acks")
    parser.add_argument("--sync", action="store_true")
    for flag in _WITHOUT_EFFECT:
        parser.add_argument(f"--{flag}")
    options = parse(parser, arguments)
    reader, producer = dict(pairs(options.reader)), dict(pairs(options.producer))
    refuse_security(producer, parser.prog)
    words = [options.topic, *_reading(reader)]
    acks = options.acks or producer.get("acks")
    compression = options.compression_codec or producer.get("compression.type")
    words += ["--acks", acks] if acks else []
    words += ["--compression", compression] if compression else []
    words += ["--no-idempotence"] if producer.get("enable.idempotence") == "false" else []
    return barnabas("produce", options, *words)


def _reading(properties: dict[str, str]) -> list[str]:
    """How lines are read: keys and nulls. UsageError for what is not known here."""
    words = []
    if properties.pop("parse.key", "false") == "true":
        words += ["--key-separator", properties.get("key.separator", "\t")]
    if "null.marker" in properties:
        words += ["--null-value", properties["null.marker"]]
    unknown = properties.keys() - {"key.separator", "null.marker", "ignore.error"}
    if unknown:
        raise UsageError(f"kafka-console-producer: the property {min(unknown)} is not known here")
    return words
