"""The topics that rows go to: looked at before the first row, made where they are missing."""
