"""Bytes and their meaning: messages, record batches, file entries. No I/O, no clock, no event loop."""

if __name__ != "barnabas.protocol":
    raise ImportError("import it as barnabas.protocol: under two names every class would exist twice")
