"""`python -m pyspark_barnabas`: shows a sink's ledger and its transactions, and ends those of a dead query.

A plain client without Spark. `looking` queries the brokers; `picture`, `words`, `changes` and `plan` are pure; only
`abandoning` changes anything, and it does so by the commit protocol, as the next run of the query would.
"""
