"""What is wrong with a value that is to become a message."""

from __future__ import annotations


class UnencodableValue(Exception):
    """A plain value that does not fit its schema. The message is one sentence."""
