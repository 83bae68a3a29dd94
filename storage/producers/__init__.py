"""The producer state of a log: last batches and open transactions, and the snapshots that store both."""
