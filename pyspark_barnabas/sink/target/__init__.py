"""The topics that rows are written to: checked before the first row, created if they are missing."""
