"""Administration: topics and configs, groups, transactions. One function per thing to do."""
