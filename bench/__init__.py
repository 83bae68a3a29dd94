"""Measurements of Barnabas beside other brokers, run by `scripts/bench`; `results/` has what they showed."""
