"""kafka-console-consumer."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import barnabas, pairs, parse, refuse_security, tool
from barnabas.broker.cli.terminal.failures import UsageError

_PRINTED = ("timestamp", "partition", "offset", "headers", "key")
_FORMATTERS = ("DefaultMessageFormatter",)


def kafka_console_consumer(arguments: Sequence[str]) -> int:
    """Print the records of a topic."""
    parser = tool("kafka-console-consumer")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--group")
    for flag in ("--partition", "--offset", "--max-messages", "--timeout-ms", "--formatter"):
        parser.add_argument(flag)
    parser.add_argument("--isolation-level", default="read_uncommitted")
    for flag in ("--from-beginning", "--skip-message-on-error", "--enable-systest-events"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--property", "--formatter-property", dest="shape", action="append", default=[])
    parser.add_argument("--consumer-property", "--command-property", dest="consumer", action="append", default=[])
    options = parse(parser, arguments)
    if options.formatter is not None and not options.formatter.endswith(_FORMATTERS):
        raise UsageError(f"kafka-console-consumer: the formatter {options.formatter} is not here")
    consumer = dict(pairs(options.consumer))
    refuse_security(consumer, parser.prog)
    isolation = consumer.get("isolation.level", options.isolation_level)
    words = [options.topic, "--isolation", isolation, *_shape(dict(pairs(options.shape)))]
    group = options.group or consumer.get("group.id")
    words += ["--group", group, *_group(consumer)] if group else []
    words += ["--partition", options.partition] if options.partition else []
    if options.offset:
        words += ["--offset", options.offset]
    elif options.from_beginning or consumer.get("auto.offset.reset") == "earliest":
        words += ["--from-beginning"]
    words += ["--max-messages", options.max_messages] if options.max_messages else []
    words += ["--timeout-ms", options.timeout_ms] if options.timeout_ms else []
    return barnabas("consume", options, *words)


def _group(properties: dict[str, str]) -> list[str]:
    """How to be a member of the group. Kafka takes the protocol in whatever case."""
    words = []
    for key in ("group.protocol", "group.instance.id", "group.remote.assignor"):
        if key in properties:
            value = properties[key]
            words += [f"--{key.replace('.', '-')}", value.lower() if key == "group.protocol" else value]
    return words


def _shape(properties: dict[str, str]) -> list[str]:
    """What is printed of a record. UsageError for what is not known here."""
    words = [f"--print-{part}" for part in _PRINTED if properties.pop(f"print.{part}", "false") == "true"]
    if "key.separator" in properties:
        words += ["--separator", properties.pop("key.separator")]
    if properties.pop("print.value", "true") != "true":
        raise UsageError("kafka-console-consumer: values are always printed here")
    unknown = [key for key in properties if not key.startswith(("key.deserializer", "value.deserializer"))]
    if unknown:
        raise UsageError(f"kafka-console-consumer: the property {min(unknown)} is not known here")
    return words
