"""The runtime of both coordinators: owning and loading partitions; decide, append, replay, act, reply."""
