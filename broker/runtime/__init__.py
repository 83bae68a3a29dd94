"""The base of all other parts of the broker: the clock, slices of work, worker processes, log lines, events."""
