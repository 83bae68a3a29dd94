"""The three languages of schemas: parsing, canonical forms and compatibility. Pure functions of texts."""
