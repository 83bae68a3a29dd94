"""The entries of very many producers as a snapshot file has them, encoded as they change.

A roll writes a snapshot while others wait, and to encode a hundred thousand entries takes a tenth of a second. So who
has changed is noted, and encoded some hundred at a time, by whichever append makes the number full. A partition of few
producers has none of this (window.py). docs/formats/producer-snapshot.md describes the entries, which are in no order.

Invariant: whoever is in the table has one entry, that of the last time it was encoded, and is noted if it has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from barnabas.protocol.files.producer_snapshot import ENTRY_SIZE, encode_entry, with_header
from barnabas.storage.producers.producer import Producer

CHANGED_MAX: Final = 200
"""How many are encoded at once: a fifth of a millisecond."""


class EncodedProducers:
    """The encoded entries of one partition's producers."""

    __slots__ = ("_changed", "_entries", "_ids", "_places", "_producers")

    def __init__(self, producers: Mapping[int, Producer]) -> None:
        """`producers`: those whose entries they are, by id, now and later."""
        self._producers = producers
        self._entries = bytearray()
        self._ids: list[int] = []  # in the order of the entries
        self._places: dict[int, int] = {}
        self._changed = set(producers)

    def changed(self, producer_id: int) -> None:
        """This producer is new, or is not what it was."""
        self._changed.add(producer_id)
        if len(self._changed) >= CHANGED_MAX:
            self._encode()

    def forget(self, producer_id: int) -> None:
        """This producer is gone: the last entry takes the place of its own."""
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
        """The whole file."""
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
