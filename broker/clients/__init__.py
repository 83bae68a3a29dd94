"""The state of each client: its quotas and its telemetry."""
