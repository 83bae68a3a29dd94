"""Queries of the console beyond the read model (broker/insight/inspection/): holds, histories, logs, records.

Nothing here changes anything, and nothing knows HTML. Long work is done in steps.
"""
