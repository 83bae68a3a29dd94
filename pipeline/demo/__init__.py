"""The demo: an order stream, the two jobs, kills while they run, and the audit's answer. Started by `scripts/demo`."""
