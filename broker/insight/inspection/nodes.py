"""The nodes, and the distribution of partitions over them, counted in steps of some topics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.services import Services


_SLICE = 100  # partitions counted in a step, a µs or two each


class Spread(NamedTuple):
    """Counts over all partitions of the catalogue."""

    leads: Counter[int]
    """Number of partitions that each node leads, by node id."""
    replicas: Counter[int]
    """Number of replicas on each node."""
    under_replicated: int
    """Number of partitions that have a leader but fewer in-sync replicas than replicas."""
    leaderless: int
    """Number of partitions without a leader."""


def spread(services: Services) -> Steps[Spread]:
    """Return, in steps, the distribution of partitions over the nodes."""
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    under_replicated = 0
    catalogue, cluster = services.catalogue, services.cluster
    counted = 0
    for name in list(catalogue.topics):
        topic = catalogue.topics.get(name)  # it may be gone since the last step
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
    """Return whether each node runs, by node id."""
    known = services.cluster.nodes(services.node)
    return {
        **{node.node_id: True for node in known},
        **{node.node_id: False for node in services.cluster.fenced(services.node)},
    }
