"""Loads on all peers: each peer is warmed with the load until its rate is flat, then they are measured in turn.

The order of the peers is reversed from round to round. Set-up and tear-down are not measured.
"""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from bench.measuring.loads import Load
from bench.measuring.warming import Warming, warm_until_flat
from bench.peers.peer import Figures, Peer
from bench.peers.topics import drop_topic, settle

_MUCH_MB = 0.2 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
"""Where warming ends, so that a broker in memory (kfake) has room for the rounds, and for garbage as large."""


class Plan(NamedTuple):
    """The number and length of rounds. Only `rounds`, `seconds` and `cap_s` differ between a full and a quick run: the
    criterion for warm is the same.
    """

    rounds: int
    seconds: float
    cap_s: float
    slice_s: float = 1.5

    def in_words(self) -> str:
        return (
            f"{self.rounds} rounds of {self.seconds:g} s in alternating order, after warming in slices of"
            f" {self.slice_s:g} s for at most {self.cap_s:g} s"
        )


QUICK = Plan(rounds=4, seconds=2, cap_s=40)
FULL = Plan(rounds=6, seconds=4, cap_s=90)


class Measured(NamedTuple):
    """The results of one load: how each peer was warmed (not at all, if the load is not), and every round, by peer."""

    load: Load
    warmings: dict[str, Warming]
    rounds: dict[str, list[Figures]]


class Bench:
    """Runs loads on the given peers, which have been started."""

    def __init__(self, peers: list[Peer], plan: Plan, say: Callable[[str], None]) -> None:
        self._peers, self._plan, self._say = peers, plan, say

    def measure(self, load: Load) -> Measured:
        peers = [peer for peer in self._peers if peer.name not in load.without]
        topics = {peer.name: load.prepare(peer) for peer in peers} if load.keeps_topic else {}
        warmings = {peer.name: self._warm(peer, load, topics) for peer in peers if load.is_warmed}
        rounds: dict[str, list[Figures]] = {peer.name: [] for peer in peers}
        for turn in range(self._plan.rounds):
            for peer in peers if turn % 2 == 0 else peers[::-1]:
                settle(self._peers)
                figures = _once(peer, load, topics, self._plan.seconds)
                rounds[peer.name].append(figures)
                named = ", ".join(f"{name} {figures[name]:,.1f}" for name in load.figures if name in figures)
                self._say(f"{load.name} {peer.name}: {named}")
        for peer in peers:
            if topics.get(peer.name):
                drop_topic(peer, topics[peer.name])
        return Measured(load, warmings, rounds)

    def _warm(self, peer: Peer, load: Load, topics: dict[str, str]) -> Warming:
        def slice_rate() -> float:
            return load.pace(_once(peer, load, topics, self._plan.slice_s))

        warming = warm_until_flat(slice_rate, time.monotonic, self._plan.cap_s, lambda: peer.rss_mb() > _MUCH_MB)
        rates = " ".join(f"{rate:.4g}" for rate in warming.rates)
        self._say(f"{load.name} {peer.name}: warmed {warming.in_words()} ({rates})")
        return warming


def _once(peer: Peer, load: Load, topics: dict[str, str], seconds: float) -> Figures:
    topic = topics[peer.name] if load.keeps_topic else load.prepare(peer)
    figures = peer.measured(lambda: load.run(peer, topic, seconds))
    if topic and not load.keeps_topic:
        drop_topic(peer, topic)
    return figures
