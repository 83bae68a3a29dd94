"""A Kafka-wire-compatible broker to embed: `with Barnabas() as broker:`, and a pytest plugin that gives fresh ones.

The only name a user's Python imports. Nothing here imports the broker's own packages (`broker`, `storage`, `protocol`,
`client`) into the process of a user, who may well have packages of these names: the broker runs in a process of its
own or, only where that is asked for, in a thread. docs/testing.md shows how to use it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.answers import OpenTransaction, PartitionOffsets, Record, Transaction
    from barnabas.embedded import Barnabas
    from barnabas.errors import BarnabasError, BarnabasWarning, NotRunning
    from barnabas.settings import Topic
    from barnabas.snapshots import Snapshot

__all__ = [
    "Barnabas",
    "BarnabasError",
    "BarnabasWarning",
    "NotRunning",
    "OpenTransaction",
    "PartitionOffsets",
    "Record",
    "Snapshot",
    "Topic",
    "Transaction",
]

_HOMES = {
    "answers": ("OpenTransaction", "PartitionOffsets", "Record", "Transaction"),
    "embedded": ("Barnabas",),
    "errors": ("BarnabasError", "BarnabasWarning", "NotRunning"),
    "settings": ("Topic",),
    "snapshots": ("Snapshot",),
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and not before: pytest imports this package at every start, whoever uses it."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"barnabas.{home}"), name)
    raise AttributeError(f"module 'barnabas' has no attribute {name!r}")
