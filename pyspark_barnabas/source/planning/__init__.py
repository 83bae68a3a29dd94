"""What the driver decides: where a read begins and ends, and what each task reads."""
