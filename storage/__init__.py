"""Partitions on disk. Knows batches, not requests; synchronous; knows no network and no event loop."""

if __name__ != "barnabas.storage":
    raise ImportError("its name is barnabas.storage: under two names every class would be there twice")
