"""A Kafka-wire-compatible broker to embed: `with Barnabas() as broker:`, and a pytest plugin that gives fresh ones.

The one import name of this distribution. `broker`, `storage`, `logfiles`, `client` and `protocol`
are links to the folders of these names at the top of the repository; a wheel has the folders themselves
(docs/decisions/0098). Importing `barnabas` loads none of them: the broker runs in a process of its own or, only on
request, in a thread. docs/testing.md shows how to use it. Where hot modules were compiled (docs/compiled.md),
they are put before Python's own finders here, as every import of a module of ours comes by first.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.embedded.answers import (
        OpenTransaction,
        PartitionOffsets,
        Record,
        SharedGroup,
        SharedPartition,
        SharedRange,
        TracedEvent,
        Transaction,
    )
    from barnabas.embedded.barnabas import Barnabas
    from barnabas.embedded.errors import BarnabasError, BarnabasWarning, Crashed, NotRunning
    from barnabas.embedded.handles.fault_values import FaultEffect, FaultMatch
    from barnabas.embedded.settings import Topic
    from barnabas.embedded.snapshots import Snapshot

__all__ = [
    "Barnabas",
    "BarnabasError",
    "BarnabasWarning",
    "Crashed",
    "FaultEffect",
    "FaultMatch",
    "NotRunning",
    "OpenTransaction",
    "PartitionOffsets",
    "Record",
    "SharedGroup",
    "SharedPartition",
    "SharedRange",
    "Snapshot",
    "Topic",
    "TracedEvent",
    "Transaction",
]

_HOMES = {
    "answers": (
        *("OpenTransaction", "PartitionOffsets", "Record", "SharedGroup", "SharedPartition", "SharedRange"),
        *("TracedEvent", "Transaction"),
    ),
    "barnabas": ("Barnabas",),
    "errors": ("BarnabasError", "BarnabasWarning", "Crashed", "NotRunning"),
    "handles.fault_values": ("FaultEffect", "FaultMatch"),
    "settings": ("Topic",),
    "snapshots": ("Snapshot",),
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use: pytest imports this package at every start, also where no test uses it."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"barnabas.embedded.{home}"), name)
    raise AttributeError(f"module 'barnabas' has no attribute {name!r}")


def _use_compiled_modules() -> None:
    """Use the compiled modules if there are any: without, this looks at one path."""
    package = os.path.dirname(os.path.abspath(__file__))
    if "BARNABAS_FORM" in os.environ or os.path.exists(os.path.join(package, "compiled")):
        from barnabas.form import install

        install(package, os.environ)


_use_compiled_modules()
