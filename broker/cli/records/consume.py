"""`barnabas consume`: print the records of a topic, one to a line.

Reads assigned partitions, or with --group as a member of a group, whose offsets it commits, or with --share as a
member of a share group. Runs until it is interrupted, or until the limit of --max-messages, --timeout-ms or
--exit-at-end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.broker.cli.records.share import ShareSource, add_share_options, check_share
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import (
    Parser,
    add_registry_option,
    connected,
    positive,
    shared_options,
    take_word_of_registry,
    whole,
)
from barnabas.broker.cli.terminal.output import ProgressCounter, counted
from barnabas.broker.cli.terminal.stopping import StopSignals
from barnabas.client.admin.topics import describe_topics
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer import ConsumedRecord, Consumer
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.consume.membership import GroupProtocol
from barnabas.client.consume.share.held_records import AcquiredRecord
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_COMMITTED, READ_UNCOMMITTED
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.cli.records.decoded import DecodedPart, RecordDecoder

ISOLATION = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}
CLASSIC, CONSUMER = "classic", "consumer"
_POLL_MS = 500
PrintedRecord = ConsumedRecord | AcquiredRecord


class RecordSource(Protocol):
    """The source of records: a Consumer, a GroupConsumer or a ShareSource."""

    def poll(self, timeout_ms: int, max_records: int | None = None) -> Sequence[PrintedRecord]:
        """Return records, or none after the timeout."""

    def is_at_end(self) -> bool:
        """Return whether all existing records have been read."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    take_word_of_registry(options, "topic")
    _check(options)
    decoder = _decoder(options)
    with ExitStack() as stack:
        client = stack.enter_context(connected(options))
        source = _source(client, options, stack)
        _print_records(client, source, options, decoder)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas consume",
        description="Print the records of a topic, one to a line, until interrupted, or until an option ends it.",
        parents=shared_options(),
    )
    top.add_argument("topic", metavar="TOPIC", nargs="?")  # because it may stand behind --registry
    where = top.add_argument_group("where to start")
    where.add_argument("--partition", type=whole, metavar="N", help="only this partition")
    where.add_argument("--group", metavar="GROUP", help="as a member of a group; its offsets are committed")
    where.add_argument(
        "--group-protocol", choices=(CLASSIC, CONSUMER), help=f"default {CLASSIC}; {CONSUMER} is KIP-848"
    )
    where.add_argument("--group-instance-id", metavar="ID", help="as a static member with this instance id")
    where.add_argument(
        "--group-remote-assignor", metavar="NAME", help=f"the assignor, with --group-protocol {CONSUMER}"
    )
    add_share_options(where)
    where.add_argument("--regex", action="store_true", help=f"TOPIC is a regular expression (RE2); also {CONSUMER}")
    start = where.add_mutually_exclusive_group()
    start.add_argument(
        "--from-beginning", action="store_true", help="start of partitions without an offset; default: latest"
    )
    start.add_argument("--offset", metavar="N|earliest|latest", help="start there; a number needs --partition")
    where.add_argument("--isolation", choices=list(ISOLATION), help="default read_uncommitted")
    stop = top.add_argument_group("when to stop")
    stop.add_argument("--max-messages", type=positive, metavar="N", help="after this many records")
    stop.add_argument("--timeout-ms", type=positive, metavar="MS", help="when no record arrived for this long")
    stop.add_argument("--exit-at-end", action="store_true", help="at the end that each partition had at the start")
    shape = top.add_argument_group("what to print")
    shape.add_argument("--print-timestamp", action="store_true", help="CreateTime or LogAppendTime in ms")
    shape.add_argument("--print-partition", action="store_true")
    shape.add_argument("--print-offset", action="store_true")
    shape.add_argument("--print-headers", action="store_true", help="key:value, separated by commas")
    shape.add_argument("--print-key", action="store_true")
    shape.add_argument("--print-delivery", action="store_true", help="the delivery count, with --share")
    add_registry_option(shape, "print keys and values in JSON, by their schemas in this registry")
    shape.add_argument("--separator", default="\t", metavar="TEXT", help="between the parts (default: a tab)")
    return top


def _check(options: argparse.Namespace) -> None:
    if options.topic is None:
        raise UsageError("consume: name the topic")
    check_share(options)
    if options.group is not None and (options.partition is not None or options.offset is not None):
        raise UsageError("consume: a group assigns partitions and offsets: omit --partition and --offset")
    _check_group(options)
    if options.offset is not None and options.offset not in ("earliest", "latest"):
        try:
            whole(options.offset)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"consume: --offset is earliest, latest or a number, and {error}") from error
        if options.partition is None:
            raise UsageError("consume: an --offset by number needs --partition")


def _check_group(options: argparse.Namespace) -> None:
    is_set = {
        "--group-protocol": options.group_protocol is not None,
        "--group-instance-id": options.group_instance_id is not None,
        "--group-remote-assignor": options.group_remote_assignor is not None,
        "--regex": options.regex,
    }
    given = [option for option, is_given in is_set.items() if is_given]
    if given and options.group is None:
        raise UsageError(f"consume: {given[0]} needs --group")
    for option in ("--group-remote-assignor", "--regex"):
        if is_set[option] and options.group_protocol != CONSUMER:
            raise UsageError(f"consume: {option} needs --group-protocol {CONSUMER}")


def _source(client: Client, options: argparse.Namespace, stack: ExitStack) -> RecordSource:
    reset = "earliest" if options.from_beginning or options.offset == "earliest" else "latest"
    isolation = ISOLATION[options.isolation or "read_uncommitted"]
    if options.share is not None:
        return stack.enter_context(ShareSource(client, options))
    if options.group is not None:
        topics = [] if options.regex else [options.topic]
        protocol = _group_protocol(options)
        group = GroupConsumer(
            client, options.group, topics, protocol=protocol, isolation=isolation, auto_offset_reset=reset
        )
        return stack.enter_context(group)
    consumer = Consumer(client, isolation=isolation, auto_offset_reset=reset)
    (topic,) = describe_topics(client, [options.topic])
    numbers = [*topic.partitions] if options.partition is None else [options.partition]
    if not topic.partitions.keys() >= set(numbers):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"topic {options.topic!r} has {counted(len(topic.partitions), 'partition')}, "
            f"there is no partition {numbers[0]}",
        )
    offset = int(options.offset) if options.offset and options.offset.isdecimal() else None
    positions: dict[TopicPartition, int | None] = {(options.topic, number): offset for number in numbers}
    consumer.assign(positions)
    return consumer


def _group_protocol(options: argparse.Namespace) -> GroupProtocol:
    if options.group_protocol != CONSUMER:
        return ClassicProtocol(instance_id=options.group_instance_id)
    return ConsumerProtocol(
        regex=options.topic if options.regex else None,
        instance_id=options.group_instance_id,
        remote_assignor=options.group_remote_assignor,
    )


def _decoder(options: argparse.Namespace) -> RecordDecoder | None:
    """Return what decodes keys and values, if --registry asks for it. UsageError."""
    if options.registry is None:
        return None
    from barnabas.broker.cli.records.decoded import RecordDecoder
    from barnabas.broker.cli.records.registry_schemas import RegistrySchemas
    from barnabas.broker.cli.terminal.registry_api import registry_api

    return RecordDecoder(RegistrySchemas(registry_api(options)))


def _print_records(
    client: Client, source: RecordSource, options: argparse.Namespace, decoder: RecordDecoder | None
) -> None:
    """Print records until a limit, a timeout or a signal; only printed records are committed or acknowledged."""
    write = partial(_json_line, decoder) if options.json else _line_writer(options, decoder)
    progress, count = ProgressCounter("records"), 0
    out = sys.stdout.buffer
    is_shown = not sys.stdout.isatty()
    # Up to the end there are records, which come at once; only a group may have to be waited for.
    wait_ms = 0 if options.exit_at_end and isinstance(source, Consumer) else _POLL_MS
    with StopSignals() as stop, closing(progress):
        quiet = _patience(client, options)
        while not stop.is_set and not _is_enough(source, options, count, quiet):
            left = None if options.max_messages is None else options.max_messages - count
            records = source.poll(wait_ms if quiet is None else min(wait_ms, quiet.left_ms), left)
            for record in records:
                out.write(write(record) + b"\n")
            out.flush()
            count += len(records)
            if records:
                quiet = _patience(client, options)
            if is_shown:
                progress.update(count)


def _patience(client: Client, options: argparse.Namespace) -> Deadline | None:
    return None if options.timeout_ms is None else client.deadline(options.timeout_ms)


def _is_enough(source: RecordSource, options: argparse.Namespace, count: int, quiet: Deadline | None) -> bool:
    if options.max_messages is not None and count >= options.max_messages:
        return True
    if options.exit_at_end and source.is_at_end():
        return True
    return quiet is not None and quiet.is_over


def _line_writer(options: argparse.Namespace, decoder: RecordDecoder | None) -> Callable[[PrintedRecord], bytes]:
    separator: bytes = options.separator.encode("utf-8", "surrogateescape")

    def line(consumed: PrintedRecord) -> bytes:
        record = consumed.record
        parts: list[bytes] = []
        if options.print_timestamp:
            parts.append(b"%d" % record.timestamp)
        if options.print_partition:
            parts.append(b"%d" % consumed.partition)
        if options.print_offset:
            parts.append(b"%d" % record.offset)
        if options.print_delivery and isinstance(consumed, AcquiredRecord):
            parts.append(b"%d" % consumed.delivery_count)
        if options.print_headers:
            parts.append(b",".join(_raw_header(name, value) for name, value in record.headers))
        if options.print_key:
            parts.append(_shown(record.key, None if decoder is None else decoder.key(consumed)))
        return separator.join([*parts, _shown(record.value, None if decoder is None else decoder.value(consumed))])

    return line


def _raw(data: bytes | None) -> bytes:
    return b"null" if data is None else data


def _raw_header(name: str, value: bytes | None) -> bytes:
    return name.encode("utf-8", "surrogateescape") + b":" + _raw(value)


def _shown(data: bytes | None, decoded: DecodedPart | None) -> bytes:
    if decoded is None:
        return _raw(data)
    import json

    return json.dumps(decoded.value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _json_line(decoder: RecordDecoder | None, consumed: PrintedRecord) -> bytes:
    import json

    record = consumed.record
    fields: dict[str, Any] = {
        "topic": consumed.topic,
        "partition": consumed.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        **_json_part("key", record.key, None if decoder is None else decoder.key(consumed)),
        **_json_part("value", record.value, None if decoder is None else decoder.value(consumed)),
        "headers": [{"key": name, **_json_bytes("value", value)} for name, value in record.headers],
    }
    if isinstance(consumed, AcquiredRecord):
        fields["delivery_count"] = consumed.delivery_count
    return json.dumps(fields).encode()


def _json_part(name: str, data: bytes | None, decoded: DecodedPart | None) -> dict[str, Any]:
    if decoded is None:
        return _json_bytes(name, data)
    return {name: decoded.value, f"{name}_schema": decoded.schema}


def _json_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    """Return text as text; other bytes in base64 under another name, so that nothing is lost or ambiguous."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        from base64 import b64encode

        return {f"{name}_base64": b64encode(data).decode()}
