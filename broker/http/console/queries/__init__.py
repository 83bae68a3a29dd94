"""What the console looks at beside the read model (broker/insight/inspection/): holds, histories, logs, records.

Nothing here changes anything, and nothing knows HTML. Long work comes in steps.
"""
