"""The part that the APIs describing groups have in common: many ids in one request, and one code for each."""
