"""Sources of answers besides the broker's state: recent events, and requests that faults hold up."""
