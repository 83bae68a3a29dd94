"""The entry formats and names of the files in a Kafka data directory."""
