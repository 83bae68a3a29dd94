"""From a schema to the functions that read and write its messages."""
