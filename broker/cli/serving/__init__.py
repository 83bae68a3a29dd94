"""`barnabas serve`: its options, and directories that live as long as the process."""
