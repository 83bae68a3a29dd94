"""Rules about transactions that depend on each other: what one read, another wrote, and so on in a circle.

An edge leads from a transaction to another that read what it wrote (wr, in Adya's terms). Who reads committed records
only reads what was decided before, so no way leads back: a circle is Jepsen's G1c, one transaction that read what it
wrote itself is a precommitted read.

There are no edges for who wrote first (ww): transactions of Kafka do not keep writes of others out, so two that are
open at the same time may stand in one order in one partition and in the other order in another (G0). What one wrote
after the other was over is behind it everywhere: `sends_go_back` in `order.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from tests.simulation.history.history import History, Transaction

_T = TypeVar("_T")


def circular_reads(history: History) -> Iterator[str]:
    """No transaction read what was written by one that read, over however many others, what it wrote itself."""
    for circle in circles(read_by(history.transactions)):
        yield "each read what the one before wrote: " + "; ".join(transaction.line() for transaction in circle)


def read_by(transactions: Sequence[Transaction]) -> dict[Transaction, list[Transaction]]:
    """The edges: each transaction, and those that read what it wrote."""
    writers = {send.value: each for each in transactions for send in each.sends}
    found: dict[Transaction, list[Transaction]] = {each: [] for each in transactions}
    for reader in transactions:
        values = (value for poll in reader.reads for _, value in poll.records)
        for writer in dict.fromkeys(writers[value] for value in values if value in writers):
            found[writer].append(reader)
    return found


def circles(edges: Mapping[_T, Sequence[_T]]) -> list[list[_T]]:
    """The strongly connected components that have a circle, by Tarjan, without recursion."""
    order: dict[_T, int] = {}
    lowest: dict[_T, int] = {}
    path: list[_T] = []
    is_on_path: set[_T] = set()
    found: list[list[_T]] = []
    for root in edges:
        work = [] if root in order else [(root, iter(edges[root]))]
        while work:
            node, targets = work[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
                is_on_path.add(node)
            target = next((each for each in targets if each not in order or each in is_on_path), None)
            if target is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    component = _cut(path, node)
                    is_on_path.difference_update(component)
                    if len(component) > 1 or node in edges[node]:
                        found.append(component)
            elif target in order:
                lowest[node] = min(lowest[node], order[target])
            else:
                work.append((target, iter(edges[target])))
    return found


def _cut(path: list[_T], node: _T) -> list[_T]:
    """Take the end of the path away, from a node on."""
    at = path.index(node)
    component = path[at:]
    del path[at:]
    return component
