"""`__cluster_metadata`: its records, snapshots and journal."""
