"""The commit protocol of the exactly-once sink: pure functions from what was seen to what is done next.

It knows no Spark, no socket, no clock and no file. A front end looks (at the ledger, at the coordinators), asks
`writing`, `committing` or `aborting` for the next step, takes it, looks again. `states` has the table of it all.

Invariants, which tests/pyspark_barnabas/commit explores through two drivers, zombies and crashes:
a batch is visible only when the ledger has decided it; what the ledger has decided is never aborted by us; and a batch
that was decided once is never written again.
"""
