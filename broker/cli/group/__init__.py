"""Commands for groups and their offsets."""
