"""The source as Spark meets it: a reader of batches, and readers of streams."""
