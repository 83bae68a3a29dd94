"""The read_committed source for Spark, batch and streaming: what stock Spark's Kafka source reads, without a jar."""
