"""Conclusions from facts, in sentences. Pure: no broker, no clock, no waiting."""
