"""Bytes and their meaning: messages, record batches, file entries. No I/O, no clock, no event loop."""
