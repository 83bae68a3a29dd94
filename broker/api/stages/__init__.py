"""What is around a handler: metrics, traces, quotas."""
