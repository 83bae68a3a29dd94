"""The driver's decisions: where a read begins and ends, and what each task reads."""
