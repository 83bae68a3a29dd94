"""The APIs that are offered, and how a request is dispatched to them."""
