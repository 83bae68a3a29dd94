"""Hearing of exceptions in the simulated broker that it has caught and logged: they are bugs all the same."""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from tests.simulation.world.machine import Machine
from tests.support.files.memory_files import PowerCut


class _Errors(logging.Handler):
    def __init__(self, machine: Machine) -> None:
        super().__init__(logging.ERROR)
        self._machine = machine

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        process = self._machine.process
        if error is not None and not isinstance(error, PowerCut) and process is not None and not process.is_dead:
            process.world.failures.append(f"{process.name}: {record.getMessage()}")


@contextmanager
def listening(machine: Machine) -> Iterator[None]:
    """Collect the errors that the broker logs. Warnings are ignored: a process that was killed leaves coroutines that
    nobody awaits."""
    log = logging.getLogger("barnabas")
    before = log.handlers, log.level, log.propagate
    log.handlers, log.propagate = [_Errors(machine)], False
    log.setLevel(logging.ERROR)
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
            gc.collect()
    finally:
        gc.enable()
        log.handlers, log.level, log.propagate = before
