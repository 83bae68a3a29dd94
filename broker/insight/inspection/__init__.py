"""The broker's state for readers: topics, logs, producers, transactions, groups and their lag.

The single read model over the broker's services; metrics and the embedded broker's queries are views of it. Values
are plain and may be stored by callers; nothing here is changed, formatted or awaited. A walk over many objects is an
iterator, or steps (storage/steps.py), so that the caller can let other tasks run in between: its values are not of one
instant, but each value was true when it was read.
"""
