"""Messages in Confluent's wire format as plain values: what JSON can say, and nothing else."""
