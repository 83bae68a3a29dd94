"""Rows as bytes: Arrow columns as Kafka's records, and the hash that is stored in the ledger."""
