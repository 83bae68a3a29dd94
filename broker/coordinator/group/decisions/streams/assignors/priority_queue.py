"""The order of java.util.PriorityQueue among entries of equal priority, which Kafka's task assignor depends on.

Python's heapq takes another of several equal entries: when one is taken, it moves the hole to the bottom first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PriorityQueue(Generic[T]):
    """A binary heap of entries by their current priorities: an entry changes its own only while it is out."""

    def __init__(self, priority: Callable[[T], Any], entries: Iterable[T]) -> None:
        self._priority = priority
        self._heap: list[T] = []
        for entry in entries:
            self.add(entry)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, entry: T) -> None:
        """Add an entry behind those of the same priority on its way up."""
        heap, priority = self._heap, self._priority(entry)
        heap.append(entry)
        place = len(heap) - 1
        while place > 0:
            parent = (place - 1) // 2
            if not priority < self._priority(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = entry

    def poll(self) -> T:
        """Remove and return the first entry."""
        heap = self._heap
        first, last = heap[0], heap.pop()
        if heap:
            self._sift_down(last)
        return first

    def _sift_down(self, entry: T) -> None:
        heap, priority, place = self._heap, self._priority(entry), 0
        while (child := 2 * place + 1) < len(heap):
            if child + 1 < len(heap) and self._priority(heap[child + 1]) < self._priority(heap[child]):
                child += 1
            if not self._priority(heap[child]) < priority:
                break
            heap[place] = heap[child]
            place = child
        heap[place] = entry
