"""Why does it hang? Questions about consumers, producers, records and groups, answered in sentences with evidence."""
