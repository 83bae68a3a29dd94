"""`ledger watch`: a line for each event under a prefix."""

from __future__ import annotations

import time
from collections.abc import Callable

from barnabas.client.client import Client
from barnabas.protocol.errors import KafkaError
from pyspark_barnabas.cli.changes import changes
from pyspark_barnabas.cli.inspection import look

_LAST = 10


def watch(client: Client, prefix: str, interval_ms: int, say: Callable[[str], None]) -> None:
    """Look repeatedly, until KeyboardInterrupt. If brokers become unreachable after the first look, report it once."""
    before, is_away = look(client, prefix, _LAST), False
    while True:
        client.clock.sleep(interval_ms / 1000)
        try:
            after = look(client, prefix, _LAST)
        except KafkaError as error:
            if not is_away:
                say(f"{_clock(client.clock.now_ms())}  cannot read the state, and tries again: {error}")
            is_away = True
            continue
        for line in changes(before, after):
            say(f"{_clock(after.now_ms)}  {line}")
        before, is_away = after, False


def _clock(now_ms: int) -> str:
    return time.strftime("%H:%M:%SZ", time.gmtime(now_ms / 1000))
