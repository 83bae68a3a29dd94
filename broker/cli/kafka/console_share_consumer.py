"""kafka-console-share-consumer (KIP-932): prints the records of a topic, and acknowledges each as it is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from barnabas.broker.cli.kafka.console_consumer import chosen_group, print_records, time_name
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
)
from barnabas.broker.cli.kafka.formatter import Formatter, formatter_of
from barnabas.client.consume.share.held_records import AcquiredRecord
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import KafkaError

_OLD_AND_NEW = (
    ("consumer-property", "command-property"),
    ("consumer-config", "command-config"),
    ("property", "formatter-property"),
)
"""Flags with an older name; both together are refused."""
_FLAGS = {
    **dict.fromkeys(["topic", "group", "max-messages", "timeout-ms", "formatter", "formatter-config"], VALUE),
    **dict.fromkeys(["key-deserializer", "value-deserializer"], VALUE),
    **dict.fromkeys([flag for pair in _OLD_AND_NEW for flag in pair], VALUE),
    **dict.fromkeys(["reject", "release", "reject-message-on-error", "enable-systest-events"], ALONE),
}
_PURPOSE = "This tool helps to read data from Kafka topics using share groups and outputs it to standard output."
_PROG = "kafka-console-share-consumer"
_GROUP = "console-share-consumer"


class _WholeBatches:
    """Acquires whole batches, as Java's client does: those records that are not printed have been delivered, too."""

    def __init__(self, member: ShareConsumer) -> None:
        self._member = member

    def poll(self, timeout_ms: int, max_records: int | None, /) -> list[AcquiredRecord]:
        """Return records, or none after the timeout. After fewer than were acquired there must be no other poll."""
        return self._member.poll(timeout_ms)[:max_records]


def kafka_console_share_consumer(arguments: Sequence[str]) -> int:
    """Print the records of a topic as a member of a share group."""
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    _check(options)
    file_flag = next(flag for flag in _OLD_AND_NEW[1] if options.has(flag) or flag == "command-config")
    settings = client_properties(options, _OLD_AND_NEW[0], file_flag, _PROG)
    group = chosen_group(options, settings, ("consumer-property", "consumer-config"))
    if group is None:
        group = _GROUP
    formatter, topic = formatter_of(options), options.value("topic") or ""
    try:
        with cluster(options, file_flag, also_known=("group.id",)) as client:
            formatter.time_name = time_name(client, [topic]) if formatter.prints_time else ""
            with ShareConsumer(client, group, [topic], explicit=True) as member:
                print_records(client, _WholeBatches(member), options, _printing(member, formatter, options))
    except KafkaError as error:
        raise CommandRefused(error_text(error)) from error
    return 0


def _check(options: Options) -> None:
    """Raise CommandRefused if flags are missing, or do not go together."""
    if not options.has("topic"):
        raise CommandRefused("--topic is a required argument")
    need(options, "bootstrap-server")
    if options.has("reject") and options.has("release"):
        raise CommandRefused("At most one of --reject and --release may be specified.")
    for old, new in _OLD_AND_NEW:
        if options.has(old) and options.has(new):
            raise CommandRefused(f"Options --{old} and --{new} cannot be specified together.")


def _printing(
    member: ShareConsumer, formatter: Formatter, options: Options
) -> Callable[[AcquiredRecord], bytes | None]:
    """Return a function that formats a record and acknowledges it; it raises CommandRefused unless it may reject."""
    kind = AcknowledgeType.ACCEPT
    if options.has("reject"):
        kind = AcknowledgeType.REJECT
    elif options.has("release"):
        kind = AcknowledgeType.RELEASE

    def line(record: AcquiredRecord) -> bytes | None:
        try:
            text = formatter.line(record)
        except CommandRefused as error:
            if not options.has("reject-message-on-error"):
                raise
            print(error, file=sys.stderr)
            member.acknowledge(record, AcknowledgeType.REJECT)
            return None
        member.acknowledge(record, kind)
        return text

    return line
