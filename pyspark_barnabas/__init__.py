"""Barnabas for Spark: an exactly-once sink, and sources that read what is committed. So far its commit protocol."""
