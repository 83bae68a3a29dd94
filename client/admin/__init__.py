"""Administration: topics, configs, records, groups, transactions. One function per operation."""
