"""Removes expired tokens every `delegation.token.expiry.check.interval.ms`, by the clock that clients see."""

from __future__ import annotations

from typing import Final

from barnabas.broker.metadata.delegation_tokens.tokens import Tokens
from barnabas.broker.runtime.clock import Clock, Timer
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import KafkaError

_log = logger("security")
_NEXT_MS: Final = 1
"""The delay before the rest of very many tokens is removed: other work is done before."""


class Expiring:
    """Removes the expired tokens of a broker."""

    def __init__(self, tokens: Tokens, clock: Clock, interval_ms: int) -> None:
        self._tokens = tokens
        self._clock = clock
        self._interval_ms = interval_ms
        self._timer: Timer | None = None

    def start(self) -> None:
        """Start the periodic check for expired tokens."""
        self._timer = self._clock.call_later(self._clock.until_next(self._interval_ms), self._look)

    def stop(self) -> None:
        """Stop the periodic check."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        has_more = False
        try:
            has_more = self._tokens.remove_expired()
        except KafkaError as error:
            _log.warning(line("expired delegation tokens not removed", reason=error.code.name))
        if has_more:
            self._timer = self._clock.call_later(_NEXT_MS, self._look)
        else:
            self.start()
