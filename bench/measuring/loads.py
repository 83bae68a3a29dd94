"""The definition of a load: its set-up, its run against a broker, and the figures that are compared."""

from collections.abc import Callable
from typing import NamedTuple

from bench.peers.peer import Figures, Peer
from bench.peers.topics import fresh_topic


def one_partition(peer: Peer) -> str:
    return fresh_topic(peer)


def no_topic(peer: Peer) -> str:
    return ""


class Load(NamedTuple):
    """One line of work, done to every peer alike. All figures have their unit in their name.

    prepare: the set-up before the clock starts, on a peer; returns the topic. It is called for every slice and every
    round unless `keeps_topic`: then once for all of them.
    run: (peer, topic, seconds) -> figures. `seconds` says how long to measure, never how large messages or batches are.
    figures: those that are compared, each with True if more is better. The first is the one whose flatness ends the
    warming.
    aims: the wanted ratio to Kafka's figure.
    is_warmed: False if the broker under load is one that was just started, as the load itself requires.
    rivals: loads with the same word are the same work, requested in different ways: each peer has its best among them.
    without: names of peers on which it is not run.
    """

    name: str
    title: str
    run: Callable[[Peer, str, float], Figures]
    figures: dict[str, bool]
    aims: dict[str, str]
    prepare: Callable[[Peer], str] = one_partition
    keeps_topic: bool = False
    is_warmed: bool = True
    rivals: str = ""
    without: tuple[str, ...] = ()

    def pace(self, figures: Figures) -> float:
        """Return the rate that warming watches: more is better."""
        name, more_is_better = next(iter(self.figures.items()))
        return float(figures[name]) if more_is_better else 1 / float(figures[name])
