"""The ledger's topic: created if it is missing, and refused if it may delete records.

One partition, as the ledger has one order; never compacted and without retention, as a decision that is gone is a batch
that is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.sink.failure import SinkFailed

CONFIGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def ledger_topic(prefix: str) -> str:
    """Return the topic's name; raise SinkFailed if the prefix makes an invalid name."""
    name = f"__{prefix}.ledger"
    if not _NAME.fullmatch(name):
        raise SinkFailed(
            f"transactionalIdPrefix {prefix!r} makes {name!r}, which is not a valid name of a topic: use letters, "
            "digits, '.',"
            " '_' and '-', at most 239 of them"
        )
    return name


def prefix_of(topic: str) -> str | None:
    """Return the prefix of the topic's ledger; None if its name is not that of a ledger."""
    return topic[2 : -len(".ledger")] if topic.startswith("__") and topic.endswith(".ledger") else None


def find_ledger(
    client: Client, name: str, checked: set[bytes], deadline: Deadline, *, along: Collection[str] = ()
) -> bytes:
    """Return the topic's id; create it if it is missing. Raise SinkFailed if the topic may delete records.

    checked: the ids of the topics that were checked before; the new one is added. along: topics that are requested with
    the same request, for the client's metadata; they may be missing.
    """
    topic_id = client.with_retries(lambda: _locate(client, name, along, deadline), deadline)
    if topic_id not in checked:
        _check(client, name)
        checked.add(topic_id)
    return topic_id


def _locate(client: Client, name: str, along: Collection[str], deadline: Deadline) -> bytes:
    """Look up the topic now: it may have been deleted and recreated since this process last wrote. One attempt."""
    try:
        topic_id = client.refresh([name, *along], deadline).topic(name).topic_id
    except KafkaError as error:
        if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            _create(client, name)
        raise
    client.cluster.leader(name, 0)
    return topic_id


def _create(client: Client, name: str) -> None:
    try:
        create_topic(client, name, partitions=1, configs=CONFIGS)
    except KafkaError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:  # by another task, a moment ago
            raise


def _check(client: Client, name: str) -> None:
    partitions = len(client.cluster.topic(name).partitions)
    if partitions != 1:
        raise _refused(name, f"it has {partitions} partitions, but a ledger must have one")
    values = {each.name: each.value or "" for each in describe_configs(client, ResourceType.TOPIC, name, CONFIGS)}
    if "compact" in values.get("cleanup.policy", ""):
        raise _refused(name, "it is compacted (cleanup.policy), so older decisions are deleted")
    for key in ("retention.ms", "retention.bytes"):
        if values.get(key) != "-1":
            raise _refused(name, f"its {key} is {values.get(key)}, so older decisions are deleted")


def _refused(name: str, why: str) -> SinkFailed:
    settings = ", ".join(f"{key}={value}" for key, value in CONFIGS.items())
    return SinkFailed(
        f"topic {name!r} cannot be the sink's ledger: {why}. Nothing was written. Give it one partition and {settings};"
        " or choose another transactionalIdPrefix, and let the sink create its ledger"
    )
