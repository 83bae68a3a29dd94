"""Administration: topics, configs, records, groups, transactions. One function per thing to do."""
