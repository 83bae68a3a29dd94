"""Partitions on disk. Knows batches; knows no requests, no network and no event loop. Every call is synchronous."""

if __name__ != "barnabas.storage":
    raise ImportError("import it as barnabas.storage: under two names every class would exist twice")
