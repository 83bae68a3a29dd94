"""Producing: batching, partitioning and sending."""
