"""Bugs of several nodes: leaders and coordinators that move."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("old leader does not resign", "A node that no longer leads a partition still accepts records for it.").at(
        "_resign", "services.partitions.resign(topic, number)"
    ),
    Bug(
        "old coordinator does not resign",
        "A node that becomes transaction coordinator again does not load the transactions that began on other nodes.",
    ).at("_resign", "coordinator is not None", "coordinator is not None and topic == CONSUMER_OFFSETS_TOPIC"),
)
