"""`barnabas handover`: is a stopped data directory ready for Apache Kafka, what changes, and how is Kafka started?

Read-only: nothing in the directory is changed. docs/handover.md explains each finding for users.
"""
