"""Avro: schemas parsed, printed and compared as Java's library does, from the specification's rules (Avro 1.12)."""
