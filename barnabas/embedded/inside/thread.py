"""A broker on its own event loop, in a thread: for debuggers, and where no process may be started.

A kill means here: the broker drops everything without finishing, syncing or marking it. That differs from SIGKILL in
that it comes between two steps of the broker's, never inside one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, ClassVar

from barnabas.broker.cli.serving.ephemeral import EphemeralDirectory
from barnabas.broker.runtime import log_lines
from barnabas.embedded.errors import BarnabasError, NotRunning
from barnabas.embedded.inside.host import FORESEEN, Host, open_host
from barnabas.embedded.running import ANSWER_TIMEOUT_S, LOG_NAME

_DESCRIPTORS = 1024  # what a process may have open by default; its limit is the user's to raise

_homes: dict[str, EphemeralDirectory] = {}


class BrokerThread:
    """One running broker; the counterpart of child_process.ChildProcess."""

    def __init__(self, settings: Mapping[str, Any], home: str | None) -> None:
        """Start it and wait until it can be used. Raises BarnabasError."""
        if home is None:
            directory = EphemeralDirectory()
            home = directory.path
            _homes[home] = directory  # its lock keeps it from being removed as abandoned
        self.home: str | None = home
        self.pid = os.getpid()
        self.data_dir: str = settings["data_dir"] or os.path.join(home, "data")
        self._log = os.path.join(home, LOG_NAME)
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._ready: Future[Host] = Future()
        self._ending: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="barnabas", daemon=True)
        self._thread.start()
        try:
            self._host = self._ready.result(ANSWER_TIMEOUT_S)
        except FORESEEN as error:
            self._thread.join()
            raise BarnabasError(str(error)) from error
        self.ports = self._host.ports
        self.warnings = self._host.warnings

    @property
    def is_running(self) -> bool:
        """Whether the thread still runs."""
        return self._thread.is_alive()

    def wait_ended(self, timeout_s: float) -> bool:
        """Return whether the thread has ended, by itself, within this time."""
        self._thread.join(timeout_s)
        return not self.is_running

    def end_descriptor(self) -> int | None:
        """Return None: a thread has none."""
        return None

    def ask(self, name: str, *arguments: object, timeout_s: float = ANSWER_TIMEOUT_S) -> Any:
        """Return the broker's answer. Raises BarnabasError with the reason if there is none."""
        return self._call(self._host.answer(name, *arguments), timeout_s)

    def stop(self) -> None:
        """Stop cleanly. Raises BarnabasError where the data could not be written."""
        try:
            self._call(self._host.stop(), ANSWER_TIMEOUT_S)
        finally:
            self._end()

    def kill(self) -> None:
        """Drop everything."""
        if self.is_running:
            self._loop.call_soon_threadsafe(self._host.broker.abandon)
            self._end()

    def discard(self) -> None:
        """Remove its home, once it has ended."""
        if self.home is not None and (directory := _homes.pop(self.home, None)) is not None:
            directory.remove()

    def logs(self) -> str:
        """Return the log of this and earlier brokers in the same home."""
        with open(self._log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _call(self, coroutine: Any, timeout_s: float) -> Any:
        if not self._thread.is_alive():
            coroutine.close()
            raise NotRunning("the broker's thread has ended")
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout_s)
        except FORESEEN as error:
            raise BarnabasError(str(error)) from error
        except TimeoutError:
            raise BarnabasError(f"the broker did not answer within {timeout_s:g} s") from None

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._ending.set_result, None)
        self._thread.join()

    def _run(self) -> None:
        with open(self._log, "a", encoding="utf-8") as stream, _Lines(stream, self._settings["log_level"]):
            asyncio.set_event_loop(self._loop)
            try:
                self._loop.run_until_complete(self._live())
            finally:
                asyncio.set_event_loop(None)
                self._loop.close()

    async def _live(self) -> None:
        try:
            host = await open_host(self._settings, self.data_dir, _DESCRIPTORS, owns_process=False)
        except BaseException as error:
            self._ready.set_exception(error)
            return
        self._ready.set_result(host)
        await self._ending


class _Lines:
    """Writes the log lines of this thread, and of no other, to a stream.

    It writes none after its end, even if the logger has its handler again: a program may put the handlers back that it
    replaced while the broker ended, and another thread may have the identifier of this one by then.

    The threads that the broker starts for work on the disk log none: their errors are raised on its event loop. The
    logger has a level for as long as any broker runs in a thread, unless its owner gave it one.
    """

    _changing = threading.Lock()
    _levelled: ClassVar[list[_Lines]] = []  # those for whom the logger has a level

    def __init__(self, stream: Any, level: str) -> None:
        self._handler = log_lines.line_handler(stream)
        self._handler.setLevel(level.upper())
        self._owner = threading.get_ident()
        self._handler.addFilter(lambda record: record.thread == self._owner)
        self._logger = logging.getLogger("barnabas")

    def __enter__(self) -> None:
        with self._changing:
            if self._levelled or self._logger.level == logging.NOTSET:
                self._levelled.append(self)
                self._logger.setLevel(min(each._handler.level for each in self._levelled))
        self._logger.addHandler(self._handler)

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self._handler)
        self._owner = 0  # no thread's
        with self._changing:
            if self in self._levelled:
                self._levelled.remove(self)
                self._logger.setLevel(min((each._handler.level for each in self._levelled), default=logging.NOTSET))
