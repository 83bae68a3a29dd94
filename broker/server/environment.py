"""The machine on which a broker runs, as one value: time, files, network, randomness.

The composition root (`broker/server/broker.py`) gets it and passes to each part what the part needs: no other module
of the broker knows this value, or creates any part of it. The configuration from KAFKA_* variables is read in
`broker/config/environment.py`.

There are three kinds of time. The clock is the time that clients see, for requests and records: timestamps, timers,
timeouts, retention. It may be stopped and moved. The machine's clock is for connections, disks and processes: peers
that are idle or stalled, retries after failures, flushes, the progress reports of recovery. It runs independently of
the first. The stopwatch only measures how long the event loop has been busy with something. Work that is done in slices
measures its slice with the stopwatch and continues in the loop's next turn, so a stopped clock neither blocks work that
has begun nor makes a slice endless. The time that a stop waits for peers is the loop's, too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.broker.network.network import LoopNetwork, Network
from barnabas.broker.runtime.clock import Clock, Stopwatch, SystemClock, monotonic
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.storage.disk.files import Files, RealFiles

_log = logger("app")


def _system_clock() -> Clock:
    loop = asyncio.get_running_loop()
    return SystemClock(loop, lambda error: _log.error(line("timer failed", error=repr(error)), exc_info=error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine's own parts, unless given. Must be created on the event loop that the broker will run on."""

    clock: Clock = field(default_factory=_system_clock)
    machine_clock: Clock = field(default_factory=_system_clock)
    stopwatch: Stopwatch = monotonic
    files: Files = field(default_factory=RealFiles)
    network: Network = field(default_factory=LoopNetwork)
    random: Callable[[int], bytes] = os.urandom
    """Returns a number of unpredictable bytes."""
    owns_process: bool = True
    """Whether the process belongs to the broker alone, so that a fault may end it."""
    helper_processes_max: int = 0
    """How many processes may do long work beside the event loop, on `files` if these are this machine's. With none, as
    in a broker for tests, the loop does it, in slices."""
