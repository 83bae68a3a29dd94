"""The ledger as a task or a driver uses it: found, checked, read, and cached by this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection

from barnabas.client.client import Client
from pyspark_barnabas.commit.ledger import Ledger
from pyspark_barnabas.sink.ledger.reader import LedgerReader
from pyspark_barnabas.sink.ledger.topic import find_ledger, ledger_topic

_kept = threading.local()


class LedgerAccess:
    """The ledger under a prefix, for one batch of one query.

    timeout_ms: how long one reading may take. along: as in `find_ledger`.
    """

    def __init__(
        self,
        client: Client,
        prefix: str,
        query_id: str,
        batch_id: int,
        timeout_ms: int,
        *,
        along: Collection[str] = (),
    ) -> None:
        self.topic = ledger_topic(prefix)
        self._client = client
        self._query_id, self._batch_id = query_id, batch_id
        self._timeout_ms = timeout_ms
        self.topic_id = find_ledger(
            client, self.topic, _kept.__dict__.setdefault("checked", set()), client.deadline(timeout_ms), along=along
        )
        readers: dict[tuple[int, str, bytes], LedgerReader] = _kept.__dict__.setdefault("readers", {})
        key = os.getpid(), self.topic, self.topic_id
        if key not in readers:
            readers[key] = LedgerReader(self.topic)
        self._reader = readers[key]

    def read(self, *, waits: bool) -> Ledger:
        """Read the current ledger; see LedgerReader.read."""
        deadline = self._client.deadline(self._timeout_ms)
        return self._reader.read(self._client, self._query_id, self._batch_id, waits=waits, deadline=deadline)
