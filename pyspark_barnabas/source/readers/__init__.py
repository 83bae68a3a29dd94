"""The source's interfaces for Spark: a reader of batches, and readers of streams."""
