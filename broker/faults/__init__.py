"""Faults that a test arms: what they match, what they do, how often; and the requests that they meet."""
