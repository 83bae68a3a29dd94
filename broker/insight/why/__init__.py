"""Diagnosis of waits: queries about consumers, producers, records and groups, answered in sentences with evidence."""
