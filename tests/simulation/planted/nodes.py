"""Bugs of several nodes: leaders and coordinators that move."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("an old leader that goes on", "A node that leads a partition no longer takes records for it.").at(
        "_resign", "services.partitions.resign(topic, number)"
    ),
    Bug(
        "a coordinator that forgets what others began",
        "A node that coordinates transactions again knows nothing of those that were begun elsewhere meanwhile.",
    ).at("_resign", "coordinator is not None", "coordinator is not None and topic == CONSUMER_OFFSETS_TOPIC"),
)
