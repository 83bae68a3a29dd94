"""The records in the cluster's own logs: the coordinators' records, the catalogue's, and control records' values."""
