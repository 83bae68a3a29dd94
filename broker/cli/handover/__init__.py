"""`barnabas handover`: is a stopped data directory ready for Apache Kafka, what changes there, how is Kafka started?

Looks only: nothing in the directory is changed. What each finding means for a user is told in docs/handover.md.
"""
