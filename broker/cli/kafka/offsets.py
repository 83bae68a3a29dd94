"""kafka-get-offsets, and kafka-delete-records."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.broker.cli.kafka.flags import (
    ALONE,
    VALUE,
    CommandRefused,
    Options,
    WrongOption,
    cluster,
    error_text,
    need,
    read,
    says_version,
    whole_number,
)
from barnabas.broker.cli.kafka.topics import chosen_topics, is_allowed
from barnabas.client.admin.records import delete_records
from barnabas.client.errors import ConnectionFailed
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_UNCOMMITTED, ask_offsets, list_offsets
from barnabas.protocol.errors import KafkaError

_FLAGS = {
    "topic": VALUE,
    "topic-partitions": VALUE,
    "partitions": VALUE,
    "time": VALUE,
    "exclude-internal-topics": ALONE,
}
_PURPOSE = "An interactive shell for getting topic-partition offsets."
_TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_FAILED = "Error occurred: "
_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]+)|([0-9]*)-([0-9]*))?)?")
Fits = Callable[[TopicPartition], bool]


def kafka_get_offsets(arguments: Sequence[str]) -> int:
    """Print `topic:partition:offset` of the ends, the beginnings, or the first record at a time."""
    try:
        options = read(_FLAGS, arguments)
    except WrongOption as error:
        raise CommandRefused(f"{_FAILED}{error}") from error
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    need(options, "bootstrap-server")
    try:
        if options.has("topic-partitions") and (options.has("topic") or options.has("partitions")):
            raise CommandRefused("--topic-partitions cannot be used with --topic or --partitions")
        return _print_offsets(options, _time(options.value("time") or "latest"), _fits(options))
    except (KafkaError, CommandRefused) as error:
        raise CommandRefused(f"{_FAILED}{error_text(error)}") from error


def _print_offsets(options: Options, which: int, fits: Fits) -> int:
    with cluster(options) as client:
        topics = chosen_topics(client, None, exclude_internal=options.has("exclude-internal-topics"))
        places = [(topic.name, number) for topic in topics for number in topic.partitions if fits((topic.name, number))]
        if not places:
            raise CommandRefused("Could not match any topic-partitions with the specified filters")
        wanted = dict.fromkeys(places, which)
        found, failures = ask_offsets(client, wanted, READ_UNCOMMITTED, client.deadline())
        if any(failure.code.retriable for failure in failures.values()):
            found, failures = list_offsets(client, wanted), {}
    for place in sorted(places, key=_name):
        if place in failures:
            why = f"due to error: {error_text(failures[place])}"
            print(f"Skip getting offsets for topic-partition {_name(place)} {why}", file=sys.stderr)
        elif found[place].offset >= 0:
            print(f"{place[0]}:{place[1]}:{found[place].offset}")
    return 0


def _name(place: TopicPartition) -> str:
    return f"{place[0]}-{place[1]}"


def _time(text: str) -> int:
    if text in _TIMES:
        return _TIMES[text]
    try:
        return whole_number(text, "")
    except WrongOption:
        raise CommandRefused(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / "
            "-4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, "
            "or a specified long format timestamp"
        ) from None


def _fits(options: Options) -> Fits:
    """Return the filter of partitions."""
    rules = options.value("topic-partitions")
    if rules is not None:
        each_fits = [_rule(rule) for rule in rules.split(",")]
        return lambda place: any(fits(place) for fits in each_fits)
    topic, numbers = is_allowed(options.value("topic") or ".*"), _numbers(options.value("partitions") or "")
    return lambda place: topic(place[0]) and (not numbers or place[1] in numbers)


def _numbers(text: str) -> set[int]:
    message = f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
    try:
        return {whole_number(word, message) for word in text.split(",")} if text else set()
    except WrongOption as error:
        raise CommandRefused(str(error)) from None


def _rule(text: str) -> Fits:
    """Parse `TOPIC`, `TOPIC:N`, or `TOPIC:FROM-TO` without TO itself; each part may be omitted."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise CommandRefused(f"Invalid rule specification: {text}")
    topic, one, first, after = match.groups()
    allows = is_allowed(topic or ".*")
    if one:
        return lambda place: allows(place[0]) and place[1] == int(one)
    low, high = int(first or 0), int(after) if after else None
    return lambda place: allows(place[0]) and place[1] >= low and (high is None or place[1] < high)


# --- kafka-delete-records ---


def kafka_delete_records(arguments: Sequence[str]) -> int:
    """Delete the records below an offset in each of some partitions, which a JSON file names."""
    flags = {"offset-json-file": VALUE}
    options = read(flags, arguments)
    if says_version(options, arguments, "This tool helps to delete records of the given partitions.", flags):
        return 0
    need(options, "bootstrap-server", "offset-json-file")
    before = _named_in(options.value("offset-json-file") or "")
    print("Executing records delete operation")
    with cluster(options) as client:
        print("Records delete operation completed:")
        for place, offset in before.items():
            try:
                (low,) = delete_records(client, {place: offset}).values()
            except ConnectionFailed:
                raise
            except KafkaError as error:
                print(f"partition: {_name(place)}\terror: {error_text(error)}")
            else:
                print(f"partition: {_name(place)}\tlow_watermark: {low}")
    return 0


def _named_in(path: str) -> dict[TopicPartition, int]:
    """Return the offsets by partition. CommandRefused of a file in another format than Kafka's."""
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise CommandRefused(f"Unable to read file {path}") from error
    try:
        parsed = json.loads(text)
        named = [(str(each["topic"]), int(each["partition"]), int(each["offset"])) for each in parsed["partitions"]]
    except ValueError as error:
        raise CommandRefused("The input string is not a valid JSON") from error
    except (KeyError, TypeError) as error:
        raise CommandRefused(
            '{"partitions": [{"topic": …, "partition": …, "offset": …}, …], "version": 1} is wanted'
        ) from error
    places = [(topic, partition) for topic, partition, _ in named]
    if twice := sorted({place for place in places if places.count(place) > 1}):
        raise CommandRefused(f"Offset json file contains duplicate topic partitions: {','.join(map(_name, twice))}")
    return {(topic, partition): offset for topic, partition, offset in named}
