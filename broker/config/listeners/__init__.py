"""Listeners: their addresses and limits."""
