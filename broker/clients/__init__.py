"""What is kept for each client: its quotas and its telemetry."""
