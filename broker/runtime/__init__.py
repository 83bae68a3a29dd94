"""What every room stands on: the clock, slices of work, worker processes, log lines, events."""
