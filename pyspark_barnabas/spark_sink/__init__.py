"""The sink's interfaces for Spark: a stream writer, a batch writer, and a function for foreachBatch.

They translate Spark's terms and refuse what could not be exact; the executor in `sink` does the rest.
"""
