"""Topics and partitions as written on a command line: `TOPIC`, or `TOPIC:0,2` for some of its partitions."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.broker.cli.terminal.options import whole
from barnabas.client.client import Client
from barnabas.client.metadata import PartitionInfo, TopicPartition
from barnabas.protocol.errors import ErrorCode, KafkaError

METAVAR = "TOPIC[:N,…]"


class TopicChoice(NamedTuple):
    """A topic and partition numbers; no numbers mean all partitions."""

    topic: str
    numbers: tuple[int, ...]


def topic_choice(text: str) -> TopicChoice:
    """Parse `TOPIC` or `TOPIC:N,…`, for argparse."""
    topic, colon, numbers = text.partition(":")
    if not topic or (colon and not numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is neither TOPIC nor TOPIC:N,…")
    return TopicChoice(topic, tuple(whole(number) for number in numbers.split(",")) if colon else ())


def single_partition(text: str) -> TopicPartition:
    """Parse `TOPIC:N`, for argparse."""
    choice = topic_choice(text)
    if len(choice.numbers) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not TOPIC:N")
    return choice.topic, choice.numbers[0]


def add_topic_option(parser: argparse._ActionsContainer, purpose: str) -> None:
    """Add the option --topic, for `named_partitions`."""
    parser.add_argument(
        "--topic", action="append", type=topic_choice, default=[], metavar=METAVAR, help=f"{purpose}; repeatable"
    )


def named_partitions(client: Client, choices: Iterable[TopicChoice]) -> list[TopicPartition]:
    """Return the chosen partitions, without duplicates, in order; KafkaError if one does not exist."""
    return sorted(named_partition_infos(client, choices))


def named_partition_infos(client: Client, choices: Iterable[TopicChoice]) -> dict[TopicPartition, PartitionInfo]:
    """Return the partitions of `named_partitions` with their metadata, from one answer for each choice."""
    found: dict[TopicPartition, PartitionInfo] = {}
    for choice in choices:
        existing = client.refresh([choice.topic], client.deadline()).topic(choice.topic).partitions
        for number in choice.numbers or existing:
            if number not in existing:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                raise KafkaError(code, f"topic {choice.topic!r} has no partition {number}")
            found[choice.topic, number] = existing[number]
    return found
