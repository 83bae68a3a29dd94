"""What both coordinators stand on: owning and loading partitions; decide, append, replay, act, answer."""
