"""`barnabas acls`: its words and options."""
