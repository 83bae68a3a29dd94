"""Bugs of several nodes: leaders and coordinators that move."""

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "an old leader that goes on",
        "A node that leads a partition no longer takes records for it.",
        "broker/together.py",
        "    services.partitions.resign(topic, number)\n    coordinator:",
        "    coordinator:",
    ),
    bug(
        "a coordinator that forgets what others began",
        "A node that coordinates transactions again knows nothing of those that were begun elsewhere meanwhile.",
        "broker/together.py",
        "    if coordinator is not None:\n        coordinator.resign(number)\n",
        "    if coordinator is not None and topic == CONSUMER_OFFSETS_TOPIC:\n        coordinator.resign(number)\n",
    ),
)
