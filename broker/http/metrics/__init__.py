"""Metrics: a table of all metrics, and for each part of the broker a module that reads its values at a scrape."""
