"""Messages about topics before the first row: one is missing, was created, or will not accept all rows. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.client.near_names import did_you_mean
from pyspark_barnabas.sink.settings import SinkSettings

KEYS = ("cleanup.policy", "max.message.bytes")


def refusal(topic: str, configs: Mapping[str, str], *, has_keys: bool) -> str | None:
    """Return why no row could be written there; None if rows can. has_keys: rows have a column `key`."""
    if has_keys or "compact" not in configs.get("cleanup.policy", ""):
        return None
    return (
        f"topic {topic!r} is compacted (cleanup.policy), and accepts no record without a key: add a column `key`, or"
        " write to a topic with cleanup.policy=delete. Nothing was written"
    )


def warning(topic: str, configs: Mapping[str, str], settings: SinkSettings) -> str | None:
    """Return what will cost time or fail later, and what to set; None if nothing will.

    A batch that is too large for the topic is sent again in parts; a row that is too large ends the query.
    """
    value = configs.get("max.message.bytes", "")
    if not value.isdecimal() or int(value) >= settings.max_request_bytes:
        return None
    again = (
        f". Larger batches are split and sent again: set kafka.batch.size ({settings.batch_bytes}) to {value} or less"
    )
    return (
        f"topic {topic!r} accepts at most {value} bytes at a time (its max.message.bytes), but "
        "kafka.max.request.size is"
        f" {settings.max_request_bytes}: a row that is larger will fail the query. Raise the topic's max.message.bytes,"
        f" or set kafka.max.request.size to {value}{again if settings.batch_bytes > int(value) else ''}"
    )


def missing(topic: str, there: Collection[str]) -> str:
    """Return that a topic does not exist, with the one that may have been meant."""
    meant = did_you_mean(topic, there, "")
    return f"topic {topic!r} does not exist{f' ({meant})' if meant else ''}"


def refused_creation(topic: str, there: Collection[str]) -> str:
    """Return the sentence for a missing topic if createTopics is false."""
    return (
        f"{missing(topic, there)}, but createTopics is false: correct the option topic or the column `topic`, or create"
        " the topic. Nothing was written"
    )


def creation_warning(topic: str, there: Collection[str], partitions: int, *, is_requested: bool) -> str:
    """Return the warning that a topic was created. is_requested: with newTopicPartitions partitions."""
    by = "newTopicPartitions" if is_requested else "the broker's num.partitions; newTopicPartitions sets another number"
    return (
        f"{missing(topic, there)}, and has been created with {partitions} partition{'s' * (partitions != 1)} ({by})."
        " If the name is wrong, delete the topic; with createTopics=false no topic is created"
    )
