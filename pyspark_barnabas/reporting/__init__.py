"""Text for people: errors, and lines of the log."""
