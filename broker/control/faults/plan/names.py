"""Names in a match: patterns that can match a valid name, and numbers of partitions. Pure."""

from __future__ import annotations

import re
from typing import Any

from barnabas.broker.control.faults.model import FaultRefused
from barnabas.broker.control.faults.plan.scalars import shown, text, whole_number

PARTITION_MAX = 0x7FFF_FFFF
_TOPIC = re.compile(r"[A-Za-z0-9._*-]+")
_TOPIC_CHARS_MAX = 249


def topic_pattern(value: Any) -> str:
    """Read a pattern that some topic name matches. Raises FaultRefused."""
    pattern = text(value, "topic")
    if _TOPIC.fullmatch(pattern) is None or len(pattern.replace("*", "")) > _TOPIC_CHARS_MAX:
        raise FaultRefused(
            "topic has up to 249 letters, digits, dots, dashes and underscores, and * for any of them, "
            f"not {shown(pattern)}"
        )
    return pattern


def peer_pattern(value: Any) -> str:
    """Read a pattern that some client's address and port matches. Raises FaultRefused."""
    pattern = text(value, "connection")
    host, _, port = pattern.rpartition(":")
    if "*" not in pattern and not (host and port.isascii() and port.isdecimal()):
        raise FaultRefused(
            f"connection is a client's address and port such as 127.0.0.1:50312, or has a * in it, not {shown(pattern)}"
        )
    return pattern


def partition_number(value: Any) -> int:
    """Read a partition number. Raises FaultRefused."""
    return whole_number(value, "partition", 0, PARTITION_MAX)
