"""The set of keys that verify signed tokens, updated from its file or server while the broker runs.

`KeysOfFile` reads it again when the file has changed. `KeysOfServer` fetches it every
`sasl.oauthbearer.jwks.endpoint.refresh.ms`, and at once for a key that is not in it, but not for the same one within a
minute, nor during another fetch: like Apache Kafka. A failed fetch is retried for
`…retry.backoff.max.ms`; then the present keys stay in use. Unlike in Kafka a server that does not answer does not
prevent the broker from starting: tokens are refused until it does.

Knows no HTTP: how a set is loaded is a parameter. Invariant: at most one load at a time, and none on behalf of a client
waits on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.sasl.jwk_set import JwkSet, parse_set

if TYPE_CHECKING:
    from joserfc.jwk import Key

    from barnabas.broker.runtime.clock import Clock, Timer

_log = logger("security")
MISSING_KEPT_MAX: Final = 16
MISSING_KEPT_MS: Final = 60_000
KEY_ID_CHARACTERS_MAX: Final = 1000


class LoadFailed(Exception):
    """No set of keys could be loaded from the address. str() is the reason."""


class Timing(NamedTuple):
    """When a set is loaded again."""

    refresh_ms: int
    retry_ms: int
    """After the first failure; twice as long after each further one."""
    retries_ms: int
    """How long it is tried again."""


class KeysOfFile:
    """The keys in a file."""

    def __init__(self, path: str, changed: Callable[[], object], read: Callable[[], bytes]) -> None:
        """Load the file. changed: returns another value after the file has changed. Raises LoadFailed."""
        self._path, self._changed, self._read = path, changed, read
        self._seen: object = None
        self._keys = JwkSet()
        self._load()

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key for a token, by the present file. If the file has become invalid the old keys stay in use."""
        try:
            self._load()
        except LoadFailed as failed:
            _log.warning(line("keys are not read again", file=self._path, reason=str(failed)))
        return self._keys.find(key_id, algorithm)

    async def begin(self) -> None:
        """Do nothing: the file has been read."""

    def close(self) -> None:
        """Do nothing: no resource is open."""

    def _load(self) -> None:
        try:
            seen = self._changed()
            if seen == self._seen:
                return
            self._seen = seen
            self._keys = parse_set(self._read())
        except OSError as error:
            raise LoadFailed(error.strerror or str(error)) from error
        except ValueError as wrong:
            raise LoadFailed(str(wrong)) from wrong


class KeysOfServer:
    """The keys that a server publishes."""

    def __init__(self, url: str, load: Callable[[], Awaitable[bytes]], timing: Timing, clock: Clock) -> None:
        """Load nothing yet. load: raises LoadFailed. clock: the machine's."""
        self._url, self._load, self._timing, self._clock = url, load, timing, clock
        self._keys: JwkSet | None = None
        self._missing: dict[str, int] = {}  # by id, until when it is not fetched again; the latest last
        self._task: asyncio.Task[None] | None = None
        self._timer: Timer | None = None

    async def begin(self) -> None:
        """Try to load the keys for the first time, and continue in the background. A second call does nothing."""
        if self._timer is None and self._task is None:
            await self._try()
            self._schedule()

    def close(self) -> None:
        """Stop loading."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._task.cancel()

    def find(self, key_id: str | None, algorithm: str) -> Key | None:
        """Return the key for a token among the present ones, or None; a missing key is fetched in the background."""
        key = None if self._keys is None else self._keys.find(key_id, algorithm)
        if key is None and key_id is not None and len(key_id) <= KEY_ID_CHARACTERS_MAX:
            self._ask_for(key_id)
        return key

    def _ask_for(self, key_id: str) -> None:
        now_ms = self._clock.now_ms()
        if self._missing.get(key_id, 0) > now_ms or self._timer is None:
            return
        self._missing.pop(key_id, None)
        self._missing[key_id] = now_ms + MISSING_KEPT_MS
        if len(self._missing) > MISSING_KEPT_MAX:
            del self._missing[next(iter(self._missing))]
        self._refresh()

    def _schedule(self) -> None:
        delay_ms = self._timing.retries_ms if self._keys is None else self._timing.refresh_ms
        self._timer = self._clock.call_later(max(1, delay_ms), self._refresh_and_schedule)

    def _refresh_and_schedule(self) -> None:
        self._refresh()
        self._schedule()

    def _refresh(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep_trying())
            self._task.add_done_callback(self._forget_task)

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error(line("keys cannot be loaded", url=self._url, error=repr(error)), exc_info=error)

    async def _keep_trying(self) -> None:
        end_ms, pause_ms = self._clock.now_ms() + self._timing.retries_ms, max(1, self._timing.retry_ms)
        while not await self._try():
            pause_ms = min(pause_ms, end_ms - self._clock.now_ms())
            if pause_ms <= 0:
                return
            await self._pause(pause_ms)
            pause_ms *= 2

    async def _try(self) -> bool:
        """Try to load the keys once; return whether that succeeded."""
        try:
            content = await self._load()
            self._keys = await asyncio.to_thread(parse_set, content)
        except (LoadFailed, ValueError) as failed:
            _log.warning(line("keys of tokens cannot be loaded", url=self._url, reason=str(failed)))
            return False
        for key_id in self._keys.ids:
            self._missing.pop(key_id, None)
        return True

    async def _pause(self, delay_ms: float) -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(delay_ms, partial(_end, over))
        try:
            await over
        finally:
            timer.cancel()


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
