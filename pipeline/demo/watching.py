"""A watcher of the demo: reads the progress of all stages from the broker, like any tool would, twice a second."""

from __future__ import annotations

import threading
from collections import Counter
from typing import NamedTuple

from barnabas.client.admin.transactions import list_transactions
from barnabas.client.client import Client
from barnabas.client.offsets import LATEST, READ_COMMITTED, committed_offsets, list_offsets
from barnabas.protocol.errors import KafkaError
from pipeline.demo.notes import Notes
from pipeline.demo.shop import ShopTally

INTERVAL_S = 0.5
TIMEOUT_MS = 2000


class WatchedJob(NamedTuple):
    """A job as the broker sees it: the topic that it reads, and the group for which its offsets are committed."""

    name: str
    topic: str
    partitions: int
    group: str


class Watcher:
    """A thread that records the end of each stage's topic, its group's offsets, and open transactions."""

    def __init__(self, bootstrap: str, stages: tuple[WatchedJob, ...], tally: ShopTally, notes: Notes) -> None:
        self._bootstrap = bootstrap
        self._stages = stages
        self._tally = tally
        self._notes = notes
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.lag: dict[str, int] = {}

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.is_set():
            try:
                with Client(self._bootstrap, client_id="watcher", timeout_ms=TIMEOUT_MS) as client:
                    while not self._stopped.is_set():
                        self._look(client)
                        self._stopped.wait(INTERVAL_S)
            except (KafkaError, OSError) as error:  # the broker was killed, as the demo intends
                self._notes.write("unseen", error=type(error).__name__)
                self._stopped.wait(INTERVAL_S)

    def _look(self, client: Client) -> None:
        states = Counter(each.state for each in list_transactions(client))
        seen = {}
        for stage in self._stages:
            places = [(stage.topic, partition) for partition in range(stage.partitions)]
            ends = list_offsets(client, dict.fromkeys(places, LATEST), isolation=READ_COMMITTED)
            stands = committed_offsets(client, stage.group)
            end = sum(found.offset for found in ends.values())
            read = sum(stands.get(place, 0) for place in places)
            seen[stage.name] = {"end": end, "read": read}
            self.lag[stage.name] = end - read
        self._notes.write("seen", stages=seen, transactions=dict(states), acks=dict(self._tally.transactions))
