"""Access control lists, and the authorizer that decides by them."""
