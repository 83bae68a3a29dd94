"""Opening and recovering logs at their first use."""
