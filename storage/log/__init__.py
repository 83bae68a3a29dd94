"""One partition's log. `PartitionLog` (log.py) is what others use; every other module is one part of it."""
