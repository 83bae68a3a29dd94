"""Opening and recovering logs when they are first needed."""
