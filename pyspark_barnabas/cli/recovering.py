"""`recover`: writes the rows of a decided batch again, once, that were aborted by a timeout.

The copy and the ledger's record that the batch is finished are in one transaction of the driver, taken over as a run
does: both count or neither. So it may be interrupted at any point and called again, and the query's next run continues
after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from barnabas.client.client import Client
from pyspark_barnabas.cli.abandoning import Takeover, refuse_if_alive
from pyspark_barnabas.cli.formatting import counted
from pyspark_barnabas.cli.inspection import WholeLedger
from pyspark_barnabas.cli.lost_rows import Found, describe, missing, producers_of, visible, why_not
from pyspark_barnabas.cli.scanning import aborted_batches, scan
from pyspark_barnabas.cli.sink_state import BatchLine, BatchState, Look, batches
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings

_Failed = dict[str, str]  # why a batch cannot be written again


def show_losses(client: Client, settings: SinkSettings, topics: Sequence[str], say: Callable[[str], None]) -> None:
    """Report which rows are missing. Raise SinkFailed at the end if some cannot be written again from the log."""
    seen = WholeLedger(client, settings.prefix or "").look()
    lost = _lost(seen)
    if not lost:
        say(f"no decided batch under {seen.prefix} is lost")
    failed: _Failed = {}
    for line in lost:
        found = _account(client, seen, line, topics, say, failed)
        if found is None:
            continue
        if line.still_open:
            say(f"  {counted(len(line.still_open), 'transaction')} of it still open: --execute commits them first")
        elif missing(found):
            say(f"  the log has all missing rows: --execute writes {counted(missing(found), 'row')} again")
        else:
            say("  all rows are visible: --execute records that in the ledger")
    _raise(failed)


def recover(
    client: Client,
    settings: SinkSettings,
    topics: Sequence[str],
    *,
    quiet_ms: int,
    fence_living: bool,
    say: Callable[[str], None],
) -> None:
    """End what is open, then write the lost rows again. Raise SinkFailed at the end with each batch that failed."""
    ledger = WholeLedger(client, settings.prefix or "")
    seen = ledger.look()
    if not _lost(seen):
        say(f"no decided batch under {seen.prefix} is lost: nothing was changed")
        return
    if not fence_living:
        refuse_if_alive(client, ledger, seen, quiet_ms)
    with settings.connection.client() as reading:  # a separate client, which does not wait for anything that is written
        failed: _Failed = {}
        while any(_name(line) not in failed for line in _lost(seen)):
            # A token for each batch, as its producer starts with sequence number 0.
            takeover = Takeover(client, settings, ledger, seen, say, is_long=True)
            takeover.end_what_is_open()
            seen = takeover.look()
            for line in _lost(seen):  # none, if another recovery was quicker
                found = None if _name(line) in failed else _account(reading, seen, line, topics, say, failed)
                if found is None:
                    continue
                takeover.settle(line.decision, aborted_batches(reading, found))
                done = f"wrote {counted(missing(found), 'row')} again" if missing(found) else "nothing is missing"
                say(f"batch {line.decision.batch_id}: {done}; the ledger now has it as finished")
                seen = takeover.look()
                break
    _raise(failed)


def settle(
    client: Client,
    settings: SinkSettings,
    topics: Sequence[str],
    batch: tuple[str, int],
    *,
    quiet_ms: int,
    fence_living: bool,
    say: Callable[[str], None],
) -> None:
    """Write into the ledger that a lost batch, given by query and id, is finished: its missing rows were made by hand.

    Raise SinkFailed if it is not lost, and if the log still has all of it.
    """
    ledger = WholeLedger(client, settings.prefix or "")
    seen = ledger.look()
    _the_lost(seen, batch)
    if not fence_living:
        refuse_if_alive(client, ledger, seen, quiet_ms)
    takeover = Takeover(client, settings, ledger, seen, say)
    takeover.end_what_is_open()
    line = _the_lost(takeover.look(), batch)
    with settings.connection.client() as reading:
        found = scan(reading, topics, producers_of(line.decision))
    reason = why_not(line.decision, found)
    if not reason or any(each.unended for each in found.values()):
        raise SinkFailed(f"{_name(line)}: {reason or 'the log has all missing rows: use --execute'}")
    takeover.settle(line.decision)
    say(
        f"{_name(line)}: the ledger now has it as finished, with {visible(found)} of its"
        f" {counted(line.decision.rows, 'row')} visible as the query wrote them"
    )


def _the_lost(seen: Look, batch: tuple[str, int]) -> BatchLine:
    for line in _lost(seen):
        if (line.decision.query_id, line.decision.batch_id) == batch:
            return line
    raise SinkFailed(f"batch {batch[1]} of query {batch[0]} is not lost under {seen.prefix!r}: see `ledger show`")


def _lost(seen: Look) -> list[BatchLine]:
    """Return batches with an aborted transaction; the last one also if no coordinator knows its outcome."""
    found = batches(seen)
    return [
        each
        for each in found
        if each.state is BatchState.LOST or (each.state is BatchState.UNKNOWN and each is found[-1])
    ]


def _account(
    client: Client, seen: Look, line: BatchLine, topics: Iterable[str], say: Callable[[str], None], failed: _Failed
) -> Found | None:
    """Return the batch's rows in the log; None, with an entry in `failed`, if they do not suffice to write it again."""
    found = scan(client, topics, producers_of(line.decision))
    for sentence in describe(line.decision, line.decided_ms, seen.ledger, found):
        say(sentence)
    reason = "" if line.still_open else why_not(line.decision, found)
    if reason:
        failed[_name(line)] = reason
        return None
    return found


def _name(line: BatchLine) -> str:
    return f"batch {line.decision.batch_id} of query {line.decision.query_id}"


def _raise(failed: _Failed) -> None:
    if failed:
        raise SinkFailed("; ".join(f"{name}: {reason}" for name, reason in failed.items()))
