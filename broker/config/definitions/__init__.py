"""The known keys, their types and the values that they accept."""
