"""kafka-console-consumer. The printing of records is in `formatter`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol, TypeVar

from barnabas.broker.cli.kafka.flags import (
    ALONE,
    VALUE,
    CommandRefused,
    Options,
    client_properties,
    cluster,
    error_text,
    need,
    read,
    says_version,
    whole_number,
)
from barnabas.broker.cli.kafka.formatter import formatter_of
from barnabas.broker.cli.kafka.topics import chosen_topics
from barnabas.broker.cli.records.consume import CONSUMER, ISOLATION
from barnabas.broker.cli.terminal.stopping import StopSignals
from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.client import Client
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer import Consumer
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.consume.membership import GroupProtocol
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import KafkaError

_SETTINGS_FILES = ("consumer.config", "command-config")
_FLAGS = {
    **dict.fromkeys(["topic", "include", "partition", "offset", "group", "max-messages", "timeout-ms"], VALUE),
    **dict.fromkeys(["property", "formatter-property", "consumer-property", "command-property"], VALUE),
    **dict.fromkeys(["formatter", "formatter-config", "key-deserializer", "value-deserializer"], VALUE),
    **dict.fromkeys(["isolation-level", "consumer.config"], VALUE),
    **dict.fromkeys(["from-beginning", "skip-message-on-error", "enable-systest-events"], ALONE),
}
_PURPOSE = "This tool helps to read data from Kafka topics and outputs it to standard output."
_SETTINGS = ["auto.offset.reset", "isolation.level", "enable.auto.commit", "group.protocol", "group.instance.id"]
_SETTINGS += ["group.remote.assignor"]
_POLL_MS = 500
_TOPIC_PATIENCE_MS = 5_000  # the time for a newly requested topic to be created
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class PollSource(Protocol[R_co]):
    """A consumer of any kind."""

    def poll(self, timeout_ms: int, max_records: int | None, /) -> Sequence[R_co]:
        """Return records, or none after the timeout."""


def kafka_console_consumer(arguments: Sequence[str]) -> int:
    """Print the records of a topic."""
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    start = _checked(options)
    file_flag = next((flag for flag in _SETTINGS_FILES if options.has(flag)), _SETTINGS_FILES[-1])
    flags = ("consumer-property", "command-property")
    settings = client_properties(options, flags, file_flag, "kafka-console-consumer")
    group, reset = _group(options, settings), _reset(options, settings)
    formatter = formatter_of(options)
    isolation = options.value("isolation-level") or settings.get("isolation.level", "read_uncommitted").lower()
    if isolation not in ISOLATION:
        raise CommandRefused(f"Invalid value {isolation} for configuration isolation.level")
    try:
        with ExitStack() as stack:
            client = stack.enter_context(cluster(options, file_flag, also_known=_SETTINGS))
            topics = _topics(client, options)
            formatter.time_name = time_name(client, topics) if formatter.prints_time else ""
            source: Consumer | GroupConsumer
            if group is None:
                consumer = Consumer(client, isolation=ISOLATION[isolation], auto_offset_reset=reset)
                consumer.assign(_positions(client, options, topics, start))
                source = consumer
            else:
                protocol = _protocol(settings)
                member = GroupConsumer(
                    client,
                    group,
                    topics,
                    protocol=protocol,
                    isolation=ISOLATION[isolation],
                    auto_offset_reset=reset,
                    auto_commit=settings.get("enable.auto.commit") != "false",
                )
                source = stack.enter_context(member)
            print_records(client, source, options, formatter.line)
    except KafkaError as error:
        raise CommandRefused(error_text(error)) from error
    return 0


# --- the command line ---


def _checked(options: Options) -> int | None:
    """Return the offset to begin at, if a number was given. CommandRefused if flags do not go together."""
    if options.has("topic") == options.has("include"):
        raise CommandRefused("Exactly one of the following arguments is required: [topic], [include]")
    if options.has("partition"):
        if not options.has("topic"):
            raise CommandRefused("The topic is required when partition is specified.")
        if options.has("from-beginning") and options.has("offset"):
            raise CommandRefused("Options from-beginning and offset cannot be specified together.")
    elif options.has("offset"):
        raise CommandRefused("The partition is required when offset is specified.")
    need(options, "bootstrap-server")
    text = options.value("offset") or "latest"
    if text.lower() in ("earliest", "latest"):
        return None
    wrong = f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
    offset = whole_number(text, f"{wrong}non-negative long.")
    if offset < 0:
        raise CommandRefused(f"{wrong}non-negative long.")
    return offset


def _group(options: Options, settings: dict[str, str]) -> str | None:
    group = chosen_group(options, settings, ("command-property", "command-config"))
    if group is not None and options.has("partition"):
        raise CommandRefused("Options group and partition cannot be specified together.")
    return group


def chosen_group(options: Options, settings: dict[str, str], flags: tuple[str, str]) -> str | None:
    """Return the group of --group or of the settings, None without one. CommandRefused if they are different.

    flags: those of a setting and of a file of settings, as Kafka's message names them.
    """
    groups = {each for each in (options.value("group"), settings.get("group.id")) if each is not None}
    if len(groups) > 1:
        shown = ", ".join(f"'{group}'" for group in sorted(groups))
        raise CommandRefused(
            f"The group ids provided in different places (directly using '--group', via '--{flags[0]}', "
            f"or via '--{flags[1]}') do not match. Detected group ids: {shown}"
        )
    return groups.pop() if groups else None


def _reset(options: Options, settings: dict[str, str]) -> str:
    """Return where to begin without a committed offset or another start."""
    reset = settings.get("auto.offset.reset")
    if reset is not None and options.has("from-beginning") and reset != "earliest":
        what = f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}'"
        raise CommandRefused(f"{what}, please remove one option")
    if options.has("from-beginning") or (options.value("offset") or "").lower() == "earliest":
        return "earliest"
    return reset if reset in ("earliest", "none") else "latest"


def _protocol(settings: dict[str, str]) -> GroupProtocol:
    instance = settings.get("group.instance.id")
    if settings.get("group.protocol", "classic").lower() == CONSUMER:
        return ConsumerProtocol(instance_id=instance, remote_assignor=settings.get("group.remote.assignor"))
    return ClassicProtocol(instance_id=instance)


# --- reading ---


def _topics(client: Client, options: Options) -> list[str]:
    """Return the topics to read. A missing topic is requested, as by Kafka's consumer."""
    if options.has("include"):
        return [topic.name for topic in chosen_topics(client, options.value("include"), exclude_internal=True)]
    topic = options.value("topic") or ""
    patience = client.deadline(_TOPIC_PATIENCE_MS)
    client.with_retries(lambda: client.refresh([topic], patience, auto_create=True).topic(topic), patience)
    return [topic]


def _positions(
    client: Client, options: Options, topics: Sequence[str], start: int | None
) -> dict[TopicPartition, int | None]:
    infos = client.refresh(topics, client.deadline()).topics
    places = [(topic, number) for topic in topics for number in infos[topic].partitions]
    wanted = options.number("partition")
    chosen = [place for place in places if wanted is None or place[1] == wanted]
    if wanted is not None and not chosen:
        raise CommandRefused(f"topic {topics[0]} has no partition {wanted}")
    return dict.fromkeys(chosen, start)


def time_name(client: Client, topics: Sequence[str]) -> str:
    """Return the type of the records' timestamps: CreateTime or LogAppendTime."""
    key = "message.timestamp.type"
    found = [each.value for topic in topics[:1] for each in describe_configs(client, ResourceType.TOPIC, topic, [key])]
    return found[0] if found and found[0] else "CreateTime"


def print_records(client: Client, source: PollSource[R], options: Options, line: Callable[[R], bytes | None]) -> None:
    """Print records until a limit, a timeout or a signal; only printed records are committed then.

    line: formats a record; None for a record that is not printed.
    """
    out, count = sys.stdout.buffer, 0
    most, patience_ms = options.number("max-messages"), options.number("timeout-ms")
    try:
        with StopSignals() as stop:
            quiet = None if patience_ms is None else client.deadline(patience_ms)
            while not stop.is_set and (most is None or most < 0 or count < most):
                left = None if most is None or most < 0 else most - count
                records = source.poll(_POLL_MS if quiet is None else min(_POLL_MS, quiet.left_ms), left)
                for record in records:
                    count += 1
                    if (text := line(record)) is not None:
                        out.write(text)
                out.flush()
                if records and patience_ms is not None:
                    quiet = client.deadline(patience_ms)
                if quiet is not None and quiet.is_over:
                    break
    finally:
        print(f"Processed a total of {count} messages", file=sys.stderr)
