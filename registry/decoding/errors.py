"""What is wrong with a message, or more than is read of one."""

from __future__ import annotations


class UndecodableValue(Exception):
    """Bytes that are no value of their schema, or more than is decoded. The message is one sentence."""
