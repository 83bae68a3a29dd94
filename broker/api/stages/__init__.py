"""The wrappers of entries and handlers: metrics, traces, quotas."""
