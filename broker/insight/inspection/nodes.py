"""The nodes there are, and how the partitions are spread over them: counted some topics at a time, others between."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.services import Services


_SLICE = 100  # partitions counted in a step, a µs or two each


class Spread(NamedTuple):
    """Of all partitions of the catalogue."""

    leads: Counter[int]
    """How many each node leads, by its id."""
    replicas: Counter[int]
    """How many each node has a replica of."""
    under_replicated: int
    """How many are led with fewer replicas in sync than they have."""
    leaderless: int
    """How many nobody leads."""


def spread(services: Services) -> Steps[Spread]:
    """How partitions are spread over the nodes."""
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    under_replicated = 0
    catalogue, cluster = services.catalogue, services.cluster
    counted = 0
    for name in list(catalogue.topics):
        topic = catalogue.topics.get(name)  # it may be gone since others had their turn
        for number in range(len(topic.partitions)) if topic is not None else ():
            placement = cluster.placement_of(name, number)
            leads[placement.leader] += 1
            replicas.update(placement.replicas)
            under_replicated += placement.leader != NO_LEADER and len(placement.isr) < len(placement.replicas)
            counted += 1
        if counted >= _SLICE:
            counted = 0
            yield
    leaderless = leads.pop(NO_LEADER, 0)
    return Spread(leads, replicas, under_replicated, leaderless)


def running(services: Services) -> dict[int, bool]:
    """Whether each node runs, by its id."""
    known = services.cluster.nodes(services.node)
    return {
        **{node.node_id: True for node in known},
        **{node.node_id: False for node in services.cluster.fenced(services.node)},
    }
