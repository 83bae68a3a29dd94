"""The commit protocol of the exactly-once sink: pure functions from what was seen to what is done next.

It uses no Spark, no socket, no clock and no file. A front end reads the state (the ledger, the coordinators), gets the
next step from `writing`, `committing` or `aborting`, takes it, and reads again. `states` has the complete table.

Invariants, which tests/pyspark_barnabas/commit explores through two drivers, zombies and crashes:
a batch is visible only when the ledger has decided it; what the ledger has decided is never aborted by us; and a batch
that was decided once is never written again.
"""
