"""Plain values as messages of a schema: the other direction of `decoding`, for Avro and JSON."""
