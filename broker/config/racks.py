"""`broker.rack` of one node, or of several: the rack of each of them.

One node takes the setting unchanged, as a broker of Apache Kafka does. With `--brokers` it is a list with a rack for
each node, in the order of their ids; a single rack applies to all of them, and an empty one means no rack.
"""

from __future__ import annotations

RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The `replica.selector.class` that sends consumers to a replica in their rack (KIP-392)."""


def racks(setting: str | None, brokers: int) -> list[str | None]:
    """Return the rack of each node. ValueError unless the number of racks is the number of nodes, or one."""
    if setting is None or brokers == 1:
        return [setting] * brokers
    named = [word.strip() or None for word in setting.split(",")]
    if len(named) == 1:
        return named * brokers
    if len(named) != brokers:
        wrong = f"broker.rack {setting} names {len(named)} racks for {brokers} nodes"
        raise ValueError(f"{wrong}: name one for each, or one for all")
    return named
