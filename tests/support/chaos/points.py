"""Named points inside the sink, reached from outside: in the processes of a pipeline under test, and only there.

`install` wraps functions of the sink in this process, once. At each point the test's gate decides what to do. A name
that the sink does not have any more fails at once.

    opening     before-take, after-take, amid-register, after-register
    task        amid-rows, prepared
    commit()    begin, before-decision (all was looked at), amid-decision (written, not ended), after-decision,
                amid-ends (one transaction of several is ended), after-ends, after-sweep
"""

import functools
import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

_now = threading.local()
_installed: list[str] = []


class ChaosError(Exception):
    """The test wants a failure here."""


def enter(gate: str, stream: str, batch: int) -> None:
    """What this thread does from now on is about this batch of this stream."""
    _now.place = (gate, stream, batch)


def hit(point: str) -> None:
    """Go on, fail or die, as the gate says."""
    gate, stream, batch = getattr(_now, "place", ("", "", -1))
    if not gate:
        return
    host, _, port = gate.rpartition(":")
    with socket.create_connection((host, int(port))) as line, line.makefile() as answers:
        message = {"stream": stream, "point": point, "batch": batch, "pid": os.getpid()}
        line.sendall(json.dumps(message).encode() + b"\n")
        order = answers.readline().strip()
    if order == "raise":
        raise ChaosError(f"the test wants a failure at {point}")
    if order == "exit":
        os.kill(os.getpid(), signal.SIGKILL)


def install() -> None:
    """Reach the points in this process."""
    if _installed:
        return
    _installed.append("")
    from pyspark_barnabas.sink import driver, opening
    from pyspark_barnabas.sink.transaction import driver_transaction, task_transaction

    _around(opening, "_take_token", "before-take", "after-take")
    _around(opening, "write_record", "", "after-register", within="register")
    _around(driver, "write_record", "before-decision", "after-decision", within="decision")
    _around(driver, "end_all", "", "after-ends", instead=_end_one_first)
    _around(driver_transaction, "end", "", "", instead=_before_the_end)
    _around(driver_transaction, "end_once", "", "", instead=_before_the_end)
    _around(task_transaction.TaskTransaction, "put", "", "", instead=_stop_amid_rows)
    _around(task_transaction.TaskTransaction, "flush", "", "prepared")


def _around(
    owner: Any, name: str, before: str, after: str, *, within: str = "", instead: Callable[..., Any] | None = None
) -> None:
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        if before:
            hit(before)
        if within:
            _now.within = within
        result = instead(plain, *arguments, **named) if instead else plain(*arguments, **named)
        if after:
            hit(after)
        return result

    setattr(owner, name, wrapped)


def _before_the_end(plain: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    hit(f"amid-{_now.within}")
    return plain(*arguments, **named)


def _stop_amid_rows(plain: Callable[..., Any], transaction: Any, batches: Any) -> None:
    """Once rows are on their way: before that there is no transaction yet."""
    plain(transaction, batches)
    if transaction.sent_bytes:
        hit("amid-rows")


def _end_one_first(plain: Callable[..., Any], client: Any, identities: Any, **named: Any) -> Any:
    """End one transaction, stop, end the others."""
    first = dict(list(identities.items())[:1])
    if len(identities) > 1:
        refused = plain(client, first, **named)
        hit("amid-ends")
        rest = {name: each for name, each in identities.items() if name not in first}
        return {**refused, **plain(client, rest, **named)}
    return plain(client, identities, **named)
