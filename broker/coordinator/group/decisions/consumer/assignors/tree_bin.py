# compiled: mypyc
"""A java.util.HashMap bin with so many keys that Java makes it a tree, and its iteration order.

Java stores the keys of such a bin twice: in a red-black tree by hash, for lookups, and in a list, for iteration. The
tree matters here because it changes the list: a new key is inserted after the key whose child it becomes, and after
each change the key at the root comes first. So the tree must have Java's shape. It has this shape if it is balanced by
the rules of the textbook (Cormen, Leiserson, Rivest), as Java's is, because these leave no choice.

Not as rare as it sounds: 64 members that got 1,024 partitions in turn have 16 each, all in one bin.

Invariants: `keys` has the keys of the tree; the root is black and its key is the first; no red node has a red child,
and every path down from a node has the same number of black nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

K = TypeVar("K")

_LEFT, _RIGHT = 0, 1


class _Node(Generic[K]):
    __slots__ = ("children", "is_red", "key", "parent", "rank")

    def __init__(self, key: K, rank: Any) -> None:
        self.key = key
        self.rank = rank
        self.is_red = True
        self.parent: _Node[K] | None = None
        self.children: list[_Node[K] | None] = [None, None]


class TreeBin(Generic[K]):
    """The keys of one bin. `rank` returns the sort key in the tree, which is unique."""

    __slots__ = ("_rank", "_root", "keys")

    def __init__(self, keys: Iterable[K], rank: Callable[[K], Any]) -> None:
        self._rank = rank
        self._root: _Node[K] | None = None
        self.keys = list(keys)
        """In the order of iteration."""
        for key in self.keys:
            self._insert(key)
        self._bring_root_forward()

    def add(self, key: K) -> None:
        """Add a key that is not in the bin."""
        parent = self._insert(key)
        assert parent is not None
        self.keys.insert(self.keys.index(parent) + 1, key)
        self._bring_root_forward()

    def remove(self, key: K) -> bool:
        """Remove an existing key. Return False if the bin is a plain list from now on: do not use the tree then."""
        self.keys.remove(key)
        if self._is_too_small():
            return False
        self._delete(key)
        self._bring_root_forward()
        return True

    def _is_too_small(self) -> bool:
        """Return whether Java drops the tree: not by its size, but by three places near the root, before removal."""
        root = self._root
        if root is None or root.children[_RIGHT] is None:
            return True
        left = root.children[_LEFT]
        return left is None or left.children[_LEFT] is None

    def _bring_root_forward(self) -> None:
        assert self._root is not None
        first = self._root.key
        if self.keys[0] != first:
            self.keys.remove(first)
            self.keys.insert(0, first)

    def _insert(self, key: K) -> K | None:
        """Insert a key; return the key whose child it became, before the tree was balanced; None for the first."""
        node = _Node(key, self._rank(key))
        parent: _Node[K] | None = None
        side, below = _LEFT, self._root
        while below is not None:
            parent = below
            side = _LEFT if node.rank < below.rank else _RIGHT
            below = below.children[side]
        node.parent = parent
        if parent is None:
            self._root = node
        else:
            parent.children[side] = node
        self._balance_insertion(node)
        return None if parent is None else parent.key

    def _balance_insertion(self, node: _Node[K]) -> None:
        while (parent := node.parent) is not None and parent.is_red:
            above = parent.parent
            assert above is not None  # the root is black
            side = _side_of(parent, above)
            uncle = above.children[1 - side]
            if uncle is not None and uncle.is_red:
                parent.is_red = uncle.is_red = False
                above.is_red = True
                node = above
                continue
            if node is parent.children[1 - side]:
                self._rotate(parent, side)
                node, parent = parent, node
            parent.is_red = False
            above.is_red = True
            self._rotate(above, 1 - side)
        assert self._root is not None
        self._root.is_red = False

    def _delete(self, key: K) -> None:
        node = self._find(key)
        left, right = node.children
        if left is not None and right is not None:  # the next larger key takes its place, and its colour
            heir = right
            while (smaller := heir.children[_LEFT]) is not None:
                heir = smaller
            node.key, node.rank = heir.key, heir.rank
            node = heir
        child = node.children[_LEFT] or node.children[_RIGHT]
        if child is not None:
            child.is_red = False  # an only child is red, and its parent black
        elif not node.is_red:
            self._balance_deletion(node)
        self._put_in_place_of(node, child)

    def _balance_deletion(self, node: _Node[K]) -> None:
        """Rebalance: `node` will be removed, or has one black node too few below it."""
        while not node.is_red and (parent := node.parent) is not None:
            side = _side_of(node, parent)
            sibling = _present(parent.children[1 - side])
            if sibling.is_red:
                sibling.is_red = False
                parent.is_red = True
                self._rotate(parent, side)
                sibling = _present(parent.children[1 - side])
            near, far = sibling.children[side], sibling.children[1 - side]
            if not _is_red(near) and not _is_red(far):
                sibling.is_red = True
                node = parent
                continue
            if not _is_red(far):
                _present(near).is_red = False
                sibling.is_red = True
                self._rotate(sibling, 1 - side)
                sibling = _present(parent.children[1 - side])
                far = sibling.children[1 - side]
            sibling.is_red = parent.is_red
            parent.is_red = False
            _present(far).is_red = False
            self._rotate(parent, side)
            return
        node.is_red = False

    def _find(self, key: K) -> _Node[K]:
        rank = self._rank(key)
        node = self._root
        while node is not None and node.rank != rank:
            node = node.children[_LEFT if rank < node.rank else _RIGHT]
        return _present(node)

    def _rotate(self, node: _Node[K], side: int) -> None:
        """Move `node` down on this side, and its child of the other side up to its place."""
        child = _present(node.children[1 - side])
        between = child.children[side]
        node.children[1 - side] = between
        if between is not None:
            between.parent = node
        self._put_in_place_of(node, child)
        child.children[side] = node
        node.parent = child

    def _put_in_place_of(self, node: _Node[K], other: _Node[K] | None) -> None:
        parent = node.parent
        if parent is None:
            self._root = other
        else:
            parent.children[_side_of(node, parent)] = other
        if other is not None:
            other.parent = parent


def _side_of(node: _Node[K], parent: _Node[K]) -> int:
    return _LEFT if node is parent.children[_LEFT] else _RIGHT


def _is_red(node: _Node[K] | None) -> bool:
    return node is not None and node.is_red


def _present(node: _Node[K] | None) -> _Node[K]:
    assert node is not None
    return node
