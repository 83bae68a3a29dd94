"""What is measured with Spark: our source and sink beside Spark's own; `scripts/bench spark`."""
