"""Copartitioned topics of a streams group (KIP-1071): topics that are joined, and so need one number of partitions.

External topics keep their numbers and must agree. Repartition topics follow them; those with a declared number must
have just that one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple


class TopologyStatus(IntEnum):
    """The state of a streams group, besides its assignment, in the answer to a heartbeat."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


class TopicProblem(NamedTuple):
    """The reason why a topology cannot run with the existing topics."""

    status: TopologyStatus
    detail: str


class RepartitionTopics(NamedTuple):
    """All repartition topics of a topology."""

    fixed: Collection[str]
    """The names of those with a declared number of partitions."""
    flexible: Collection[str]
    """The names of the others."""
    fixed_counts: Sequence[int]
    """The numbers that the fixed ones have, each once."""


def enforced(counts: Mapping[str, int], topics: RepartitionTopics) -> Mapping[str, int] | TopicProblem:
    """Return the numbers of partitions of the repartition topics among copartitioned ones, or why there are none.

    `counts`: of all topics of the copartition group, sorted by name. As in Kafka, the fixed repartition topics lead
    groups of only repartition topics even from outside the group.
    """
    repartitions = {name: count for name, count in counts.items() if name in topics.fixed or name in topics.flexible}
    external = {name: count for name, count in counts.items() if name not in repartitions}
    if not counts:
        return {}
    leading = list(external.values()) or topics.fixed_counts
    if len(set(leading)) > 1:
        shown = external or repartitions
        return _wrong(f"Following topics do not have the same number of partitions: [{_java_map(shown)}]")
    count = leading[0] if leading else max(repartitions.values())
    for name, declared in repartitions.items():
        if name in topics.fixed and declared != count:
            return _wrong(
                f"Number of partitions [{declared}] of repartition topic [{name}] doesn't match number of partitions "
                f"[{count}] of the source topic."
            )
    return dict.fromkeys(repartitions, count)


def _java_map(counts: Mapping[str, int]) -> str:
    return "{" + ", ".join(f"{name}={count}" for name, count in counts.items()) + "}"


def _wrong(detail: str) -> TopicProblem:
    return TopicProblem(TopologyStatus.INCORRECTLY_PARTITIONED_TOPICS, detail)
