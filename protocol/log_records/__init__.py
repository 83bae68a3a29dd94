"""What the logs of the cluster itself hold: the coordinators' records, the catalogue's, and control records' values."""
