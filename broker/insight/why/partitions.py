"""A partition as a query finds it: its log, opened for reading, or the reason why not, as the end of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.insight.why.rules.formatting import counted, listed, meant, named
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.services import Services
    from barnabas.storage.log.log import PartitionLog


def leaderless(services: Services, topic: str, partition: int) -> str | None:
    """Return why no node leads an existing partition; None if it has a leader."""
    placement = services.cluster.placement_of(topic, partition)
    if placement.leader != NO_LEADER:
        return None
    nodes = [str(node) for node in placement.replicas]
    start = f"`barnabas nodes start {nodes[0]}` starts one"
    stopped = f"node {nodes[0]} is" if len(nodes) == 1 else f"nodes {listed(nodes)} are"
    return f"no node leads it, since {stopped} stopped; {start}"


def missing(services: Services, topic: str, partition: int) -> str | None:
    """Return why there is no such partition; None if there is one."""
    found = services.catalogue.topics.get(topic)
    if found is None:
        return f"there is no topic {named(topic)}{meant(topic, services.catalogue.topics)}"
    if not 0 <= partition < len(found.partitions):
        return f"the topic has {counted(len(found.partitions), 'partition')}, numbered from 0"
    return None


def opened(services: Services, topic: str, partition: int) -> PartitionLog | str | None:
    """Return the log; None if the partition was never written to; or the reason why the log is unavailable."""
    why = missing(services, topic, partition) or leaderless(services, topic, partition)
    if why is not None:
        return why
    try:
        return services.partitions.get_if_written(topic, partition)
    except StillRecovering:
        return "it is being recovered after the last run was killed"
    except KafkaError as error:
        return refusal(services, topic, partition, error.code.name, error.message)


def refusal(services: Services, topic: str, partition: int, error: str, message: str | None = None) -> str:
    """Return why an existing partition refuses to be written or read."""
    known = services.partitions.failed.reasons.get((topic, partition)) or services.partitions.directory.offline_reason
    if known is not None:
        return f"its log cannot be used: {known}"
    if (topic, partition) in services.partitions.recoveries:
        return "it is being recovered after the last run was killed"
    if error in ("NOT_LEADER_OR_FOLLOWER", "COORDINATOR_LOAD_IN_PROGRESS"):
        return "it is being loaded"
    return f"{error}: {message}" if message else error
