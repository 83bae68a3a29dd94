"""What a broker takes of the machine it runs on, as one value: time, files, network, randomness.

The composition root (`broker/server/broker.py`) is given it, and gives each part what that one needs: no other module
of the broker knows this value, or makes anything of it itself. What configuration a start reads from KAFKA_* variables
is `broker/config/environment.py`'s business.

There are three kinds of time. The clock is what clients are told, what requests and records go by: timestamps, timers,
timeouts, retention. Somebody may stop it and move it. The machine's clock is what connections, disks and processes go
by: peers that are idle or stalled, calls that are tried again after they failed, flushes, what is told of recovery. It
goes on whatever is done to the other. The stopwatch only tells how long the event loop has been busy with something.
Whatever takes turns measures its turn with the stopwatch and goes on in the loop's next turn, so a clock that stands
still neither holds up what was begun nor makes a turn endless. How long a stop waits for peers is the loop's time, too.
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
    """This machine's, unless given. To be made on the event loop the broker will run on."""

    clock: Clock = field(default_factory=_system_clock)
    machine_clock: Clock = field(default_factory=_system_clock)
    stopwatch: Stopwatch = monotonic
    files: Files = field(default_factory=RealFiles)
    network: Network = field(default_factory=LoopNetwork)
    random: Callable[[int], bytes] = os.urandom
    """So many bytes nobody can foresee."""
    owns_process: bool = True
    """Whether the process is the broker's alone, so that a fault may end it."""
    helper_processes_max: int = 0
    """How many processes may do long work beside the event loop, on `files` if these are this machine's. With none, as
    in a broker for tests, the loop does it, in slices."""
