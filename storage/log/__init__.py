"""One partition's log. `PartitionLog` (log.py) is the interface; every other module is one part of it."""
