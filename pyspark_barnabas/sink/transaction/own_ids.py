"""The transactional ids that this process made, so that it can use them again; `commit.writing` decides when."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.writing import OwnId

_KEPT_BATCHES = 16  # an id that is not reused within so many batches was not decided, or has no task any more

_kept = threading.local()


class OwnIds:
    """The ids of this thread, which runs one task at a time, for one run under one ledger (by its topic's id)."""

    def __init__(self, ledger_id: bytes, run: RunToken) -> None:
        runs: dict[tuple[int, bytes], tuple[RunToken, dict[str, int]]] = _kept.__dict__.setdefault("runs", {})
        key = os.getpid(), ledger_id
        if key not in runs or runs[key][0] != run:
            runs[key] = run, {}  # ids of an older run are never used again
        self._ids = runs[key][1]

    def __iter__(self) -> Iterator[OwnId]:
        return iter([OwnId(name, batch_id) for name, batch_id in self._ids.items()])

    def use(self, transactional_id: str, batch_id: int) -> None:
        """Record that the id writes this batch from now on."""
        for name in [name for name, last in self._ids.items() if last < batch_id - _KEPT_BATCHES]:
            del self._ids[name]
        self._ids[transactional_id] = batch_id
