"""Settings of topics, groups and client metrics, and those of brokers that may change while it runs."""
