"""The public face: the only name a user's Python imports."""
