"""Metrics: a table of what there is, and for each part of the broker a module that reads it when somebody scrapes."""
