"""What the broker holds, for whoever looks: topics, logs, producers, transactions, groups and their lag.

The one read model over the broker's services; metrics and the embedded broker's questions are views of it. Values are
plain and may be kept; nothing here is changed, formatted or waited for. A walk over much is an iterator, or steps
(storage/steps.py), so that the caller can let others run in between: what it gives then is not of one instant, but
each value was true when it was read.
"""
