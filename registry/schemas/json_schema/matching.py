"""How many of two lists can be paired: the largest matching of a bipartite graph, by augmenting paths."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def largest(edges: Sequence[Sequence[int]]) -> int:
    """Return the size of the largest matching; edges[i] has the right sides that the left side i may be paired with."""
    left_of: dict[int, int] = {}
    return sum(_augment(start, edges, left_of) for start in range(len(edges)))


def _augment(start: int, edges: Sequence[Sequence[int]], left_of: dict[int, int]) -> bool:
    """Pair a left side, at the cost of others that find another partner; tell whether that was possible."""
    came_from: dict[int, int] = {}  # the left side from which a right side was reached
    waiting = deque([start])
    while waiting:
        left = waiting.popleft()
        for right in edges[left]:
            if right in came_from:
                continue
            came_from[right] = left
            if right not in left_of:
                _pair(right, start, came_from, left_of)
                return True
            waiting.append(left_of[right])
    return False


def _pair(right: int, start: int, came_from: dict[int, int], left_of: dict[int, int]) -> None:
    """Turn over the path that ends at a free right side."""
    rights = {left: partner for partner, left in left_of.items()}
    while True:
        left = came_from[right]
        left_of[right] = left
        if left == start:
            return
        right = rights[left]
