"""Quotas as Apache Kafka's: how much of what a client may use, and for how long it waits when it used more."""
