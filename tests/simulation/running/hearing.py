"""Hearing of exceptions in the simulated broker that it has caught and logged: they are bugs all the same.

And of coordinators that a failing disk kept from being loaded: until they are tried again nobody ends a transaction.
"""

import gc
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.broker.coordinator.runtime.coordinator_partitions import RETRY_MS
from barnabas.broker.runtime.log_lines import Line
from tests.simulation.world.machine import Machine
from tests.support.files.memory_files import PowerCut


class _Errors(logging.Handler):
    def __init__(self, machine: Machine) -> None:
        super().__init__(logging.ERROR)
        self._machine = machine

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, Line) and record.msg.event == "coordinator not loaded":
            self._machine.boots_us.append(self._machine.world.now_us + RETRY_MS * 1000)
        error = record.exc_info[1] if record.exc_info else None
        process = self._machine.process
        if error is not None and not isinstance(error, PowerCut) and process is not None and not process.is_dead:
            process.world.failures.append(f"{process.name}: {record.getMessage()}")


@contextmanager
def listening(machine: Machine) -> Iterator[None]:
    """Collect the errors that the broker logs. Warnings are ignored: a process that was killed leaves coroutines that
    nobody awaits. What the Spark sink logs of its batches is for nobody here.
    """
    log, sink = logging.getLogger("barnabas"), logging.getLogger("pyspark_barnabas")
    before = log.handlers, log.level, log.propagate
    sink_before = sink.handlers, sink.propagate
    log.handlers, log.propagate = [_Errors(machine)], False
    sink.handlers, sink.propagate = [logging.NullHandler()], False
    log.setLevel(logging.ERROR)
    gc.freeze()  # the collection at the end looks at what the run has made alone, a twentieth of all
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
            gc.collect()
    finally:
        gc.enable()
        log.handlers, log.level, log.propagate = before
        sink.handlers, sink.propagate = sink_before
