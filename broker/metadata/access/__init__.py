"""Access control lists, and who decides by them."""
