# compiled: mypyc
"""The encoded snapshot entries of a partition with very many producers, updated as they change.

A roll writes a snapshot while other requests wait, and encoding a hundred thousand entries takes a tenth of a second.
So changed producers are noted, and encoded some hundred at a time, by the append that reaches that number. A partition
of few producers does not use this (producer_state_manager.py). docs/formats/producer-snapshot.md describes the entries,
in no order.

Invariant: a producer in the table has one entry, of the last time it was encoded, and is noted if it has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from barnabas.protocol.files.producer_snapshot import ENTRY_SIZE, encode_entry, with_header
from barnabas.storage.producers.producer_state_entry import ProducerStateEntry

CHANGED_MAX: Final = 200
"""The number of producers encoded at once: a fifth of a millisecond."""


class EncodedProducers:
    """The encoded entries of one partition's producers."""

    __slots__ = ("_changed", "_entries", "_ids", "_places", "_producers")

    def __init__(self, producers: Mapping[int, ProducerStateEntry]) -> None:
        """Take `producers`: the live table of producers by id whose entries these are."""
        self._producers = producers
        self._entries = bytearray()
        self._ids: list[int] = []  # in the order of the entries
        self._places: dict[int, int] = {}
        self._changed = set(producers)

    def changed(self, producer_id: int) -> None:
        """Note that a producer is new or has changed."""
        self._changed.add(producer_id)
        if len(self._changed) >= CHANGED_MAX:
            self._encode()

    def forget(self, producer_id: int) -> None:
        """Remove a producer: the last entry is moved to its place."""
        self._changed.discard(producer_id)
        place = self._places.pop(producer_id, None)
        if place is None:
            return
        last_id, last = self._ids.pop(), self._entries[-ENTRY_SIZE:]
        del self._entries[-ENTRY_SIZE:]
        if last_id != producer_id:
            self._ids[place] = last_id
            self._put(last_id, place, last)

    def content(self) -> bytes:
        """Return the content of the whole file."""
        self._encode()
        return with_header(self._entries)

    def _encode(self) -> None:
        for producer_id in self._changed:
            place = self._places.get(producer_id)
            if place is None:
                place = len(self._ids)
                self._ids.append(producer_id)
            self._put(producer_id, place, encode_entry(self._producers[producer_id].entry(producer_id)))
        self._changed.clear()

    def _put(self, producer_id: int, place: int, entry: bytes | bytearray) -> None:
        self._places[producer_id] = place
        self._entries[place * ENTRY_SIZE : (place + 1) * ENTRY_SIZE] = entry
