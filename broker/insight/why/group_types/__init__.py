"""Facts about share groups and streams groups: their members, and what became of records in a share group."""
