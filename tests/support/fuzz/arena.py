"""A broker in memory that is fed one frame after the other, each on its own connection, and watched.

After each frame the next client asks for something ordinary and must get it. What is watched besides: errors logged,
exceptions that were never retrieved, memory, and whether the connections and all they held are gone.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
import tracemalloc
from random import Random
from typing import Any

from barnabas.broker.metadata.image.client_quotas import QuotaAlteration
from barnabas.protocol.codec.schema import Request
from tests.support.fuzz.judge import Finding, judge
from tests.support.fuzz.mutations import Sent
from tests.support.fuzz.next_client import NextClient
from tests.support.fuzz.offered import SETTINGS
from tests.support.fuzz.stage import Stage, set_stage
from tests.support.this_thread import InThisThread
from tests.support.worlds.broker import BrokerWorld, Peer, settle

MEMORY_BYTES_MAX = 48 << 20
"""More than this for one frame of a few KB is a way to stop a broker: a thousand times the longest answer there is."""
MEMORY_PER_BYTE_MAX = 30
"""What a large frame may make of itself: an empty list is 2 bytes on the wire and 56 in memory."""
_FEW_PARTITIONS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}
_WAIT_MS = 60_000
_END_TIMEOUT_S = 10
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Arena:
    """Use as an async context manager. Every `trace_every`-th frame has its memory counted to the byte."""

    stage: Stage
    memory_bytes_max, memory_per_byte_max = MEMORY_BYTES_MAX, MEMORY_PER_BYTE_MAX

    def __init__(self, rng: Random, trace_every: int) -> None:
        self._rng = rng
        self._trace_every = trace_every
        self._played = 0
        self._complaints = _Complaints()

    async def __aenter__(self) -> Arena:
        loop = asyncio.get_running_loop()
        self._thread = InThisThread()
        loop.set_default_executor(self._thread)
        loop.set_exception_handler(lambda _, context: self._complaints.add(f"{context['message']}: {context}"))
        self._log = logging.getLogger("barnabas")
        self._log.addHandler(self._complaints)
        self._log.propagate = False  # a refusal a frame is as it should be, and nothing to read
        self.world = BrokerWorld(_FEW_PARTITIONS | SETTINGS)
        self.world.broker._flush_thread = self._thread
        await self.world.broker.start()
        self._peer = self.world.connect()
        self.stage = await set_stage(self.ask, self.world.clock.now_ms(), self._rng)
        self._next_client = NextClient(self.ask, self.stage, self.world.clock.now_ms)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._log.propagate = True
        self._log.removeHandler(self._complaints)
        if kind is None:
            self._peer.transport.hang_up()
            await self.world.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:  # work that continues without an answer after its connection has closed
                await asyncio.wait(others, timeout=_END_TIMEOUT_S)
            self._complaints.check()

    async def play(self, sent: Sent) -> None:
        """Send it, and raise Finding if anything is wrong afterwards."""
        resident = _resident_peak_bytes()
        is_traced = self._played % self._trace_every == 0
        self._played += 1
        peer = self.connect()
        if is_traced:
            tracemalloc.start()
        try:
            await self._send(peer, sent)
            traced = tracemalloc.get_traced_memory()[1] if is_traced else 0
        finally:
            tracemalloc.stop()
        needed = max(traced, _resident_peak_bytes() - resident)
        if needed > self.memory_bytes_max + self.memory_per_byte_max * len(sent.data):
            raise Finding(f"{needed} bytes of memory for a frame of {len(sent.data)}")
        self._judge(peer, sent)
        if not peer.is_closed:
            self._end(peer)
        self._complaints.check()
        self._take_quotas_back()
        await self._next_client.ask_something_ordinary()
        self._complaints.check()

    def connect(self) -> Peer:
        return self.world.connect()

    def _judge(self, peer: Peer, sent: Sent) -> None:
        judge(sent.data, peer.frames(), is_closed=peer.is_closed, is_waiting=peer.connection.is_busy)

    def _take_quotas_back(self) -> None:
        """The request may be one that makes the next client wait."""
        quotas = self.world.services.catalogue.client_quotas
        there = [QuotaAlteration(dict(each), [(key, None) for key in keys]) for each, keys in quotas.entities.items()]
        if there:
            quotas.alter(there, validate_only=False)

    async def _send(self, peer: Peer, sent: Sent) -> None:
        """Send it, and wait a while for what has to be waited for, or not."""
        peer.transport.send(sent.data, sent.step)
        if peer.connection.is_busy:
            await settle()
        if peer.connection.is_busy and self._rng.random() < 0.5:
            self.world.clock.advance(_WAIT_MS)
            await settle()

    def _end(self, peer: Peer) -> None:
        peer.transport.hang_up()
        if not peer.is_closed:
            raise Finding("a connection that was hung up is not closed")
        listener = self.world.listener
        held_bytes = listener.frame_memory.used_bytes + listener.strangers_memory.used_bytes
        if held_bytes or listener.send_memory.unread_bytes:
            raise Finding("a closed connection holds memory")

    async def ask(self, request: Request, version: int) -> Any:
        """What the next client is answered."""
        self._peer.ask(request, version)
        if self._peer.connection.is_busy:
            await settle()
            self.world.clock.advance(1)  # a rebalance with a delay of 0 ms is a timer all the same
            await settle()
        answers = self._peer.answers()
        if len(answers) != 1:
            raise Finding(f"the next client has {len(answers)} answers to {request}")
        return answers[0]


def _resident_peak_bytes() -> int:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


class _Complaints(logging.Handler):
    """What the broker logs as an error, and what asyncio finds lying about."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._findings: list[str] = []
        self.setFormatter(logging.Formatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.add(self.format(record))

    def add(self, finding: str) -> None:
        self._findings.append(finding)

    def check(self) -> None:
        if self._findings:
            finding, self._findings = self._findings, []
            raise Finding("\n".join(finding))
