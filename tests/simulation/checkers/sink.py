"""Rules about the Spark sink: each batch once, all of it, from the attempts that the ledger names, and nothing else."""

from collections import Counter
from collections.abc import Iterator

from pyspark_barnabas.commit.identity import driver_id
from pyspark_barnabas.commit.ledger import Decided, LedgerDamaged, LedgerRecord, Run, decode_value
from pyspark_barnabas.rows.digest import MODULUS, row_hash, tail
from tests.simulation.checkers.log.records import seen
from tests.simulation.history.history import History
from tests.simulation.history.sink import Attempt, CommitCall, Row, row_of

_NEVER = (
    "The ledger lost records",
    "rolled back",
    "a record of the ledger cannot be read",
    "was skipped as decided",
    "was written for batch",
    "in atomic mode one task writes",
    "cannot be the sink's ledger",
    "were deleted",
)
"""What the sink says only where somebody else has interfered."""
_ABORTED_WITHIN_US = 2_000_000  # the look for timeouts, each second, and what it takes where nothing is in the way


def wrong_ledger(history: History) -> Iterator[str]:
    """The ledger can be read, has each batch once and each run once, and its runs count their records."""
    records = list(_ledger(history))
    next_batch: dict[str, int] = {}
    next_sequence: dict[object, int] = {}
    runs: set[str] = set()
    for record in records:
        if record is None:
            yield "the ledger has a record that cannot be read"
            return
        expected = next_sequence.get(record.run, 0)
        if record.sequence != expected:
            yield f"{_say(record)} has sequence {record.sequence}, after {expected - 1}"
        next_sequence[record.run] = record.sequence + 1
        if isinstance(record, Run):
            if record.run_id in runs:
                yield f"run {record.run_id} is in the ledger twice"
            runs.add(record.run_id)
        if isinstance(record, Decided):
            expected = next_batch.get(record.query_id, 0)
            if record.batch_id != expected:
                yield f"{_say(record)} stands in the ledger where batch {expected} comes"
            next_batch[record.query_id] = record.batch_id + 1
    for query_id, batch_id in sorted(history.sink.completed):
        if batch_id >= next_batch.get(query_id, 0):
            yield f"commit() of {query_id}:{batch_id} returned, and the ledger does not have it"


def rows_not_once(history: History) -> Iterator[str]:
    """Of a batch that the ledger has, readers of committed records see each row once; of any other none."""
    decided = {(each.query_id, each.batch_id) for each in _decided(history)}
    counts = Counter((row.query_id, row.batch_id, row.row) for _, row in _visible(history))
    for (query_id, batch_id, row), count in sorted(counts.items()):
        if (query_id, batch_id) not in decided:
            yield f"row {row} of {query_id}:{batch_id} is seen, and the batch was not decided"
        elif count > 1:
            yield f"row {row} of {query_id}:{batch_id} is seen {count} times"
    for query_id, batch_id in sorted(decided):
        for row in range(history.sink.batches[query_id, batch_id].rows):
            if (query_id, batch_id, row) not in counts and not history.sink.may_be_lost(query_id, batch_id):
                yield f"row {row} of {query_id}:{batch_id} is not seen, and the batch was decided"


def rows_of_others(history: History) -> Iterator[str]:
    """No row is seen of an attempt that the decision does not name: abandoned, or a zombie's."""
    prefix = history.sink.prefix
    named = {}
    for each in _decided(history):
        shared = [(driver_id(prefix), *each.run)] if each.is_atomic else []
        own = [(one.transactional_id, one.producer_id, one.producer_epoch) for one in each.transactions]
        named[each.query_id, each.batch_id] = {*shared, *own}
    wrote = {each.name: each.transaction for each in history.sink.attempts}
    for _, row in _visible(history):
        if wrote.get(row.attempt) not in named.get((row.query_id, row.batch_id), set()):
            yield f"{row.value().decode()} is seen, and its attempt is not in the ledger"


def rows_before_decision(history: History) -> Iterator[str]:
    """Who reads rows and ledger together sees no row before the decision: what a batch is, is known first.

    Together is one Fetch, so one node: of several each answers for its own partitions.
    """
    if history.nodes > 1:
        return
    ledger = history.sink.ledger_topic, 0
    decided_at = {
        (each.query_id, each.batch_id): offset
        for (offset, _), each in zip(history.sink.ledger, _ledger(history), strict=True)
        if isinstance(each, Decided)
    }
    shown: dict[str, int] = {}
    polls = [each for each in history.polls if each.is_committed]
    clients = {each.client for each in polls if each.at == ledger}
    for poll in sorted(polls, key=lambda each: (each.client, each.fetch, each.at != ledger)):
        if poll.at == ledger:
            shown[poll.client] = poll.last_stable_offset
        if poll.at == ledger or poll.client not in clients:
            continue
        for _, value in poll.records:
            row = row_of(value)
            if row is not None and shown.get(poll.client, 0) <= decided_at.get((row.query_id, row.batch_id), -1):
                yield f"{poll.client} saw {value.decode()} at {poll.ended_us / 1000:.3f}, before the decision"


def wrong_losses(history: History) -> Iterator[str]:
    """A decided batch is lost only where its transactions time out, and none that had when commit() looked at it."""
    visible = {row.attempt for _, row in _visible(history)}
    decided = {(each.query_id, each.batch_id): each for each in _decided(history)}
    for query_id, batch_id in sorted(history.sink.lost):
        name, record = f"{query_id}:{batch_id}", decided.get((query_id, batch_id))
        missing = [each for each in _named(history, record) if each.name not in visible] if record else []
        if history.sink.timeout_ms is None:
            yield f"a part of {name} is lost, and transactions have no timeout"
        elif record is None or not missing:
            yield f"a part of {name} is said to be lost, and all of it is there"
        else:
            looked_us = _asked_us(history, record)
            for each in missing:
                over_us = (each.ended_us or 0) + history.sink.timeout_ms * 1000 + _ABORTED_WITHIN_US
                disturbed = any((each.ended_us or 0) <= event.at_us <= looked_us for event in history.events)
                if over_us < looked_us and not disturbed:
                    yield f"{name} was decided though the transaction of {each.name} had timed out before"


def _named(history: History, record: Decided) -> list[Attempt]:
    """The attempts whose transactions the decision has."""
    ids = {(each.transactional_id, each.producer_id, each.producer_epoch) for each in record.transactions}
    return [each for each in history.sink.attempts if each.transaction in ids]


def _asked_us(history: History, record: Decided) -> int:
    """When the run that decided a batch asked for it first."""
    return min(
        each.began_us
        for each in history.sink.calls
        if (each.client, each.query_id, each.batch_id) == (record.run_id, record.query_id, record.batch_id)
    )


def ledger_lies(history: History) -> Iterator[str]:
    """How many rows a batch has, their digest, and where its source ends are what the ledger says."""
    rows: dict[tuple[str, int], list[int]] = {}
    for topic, row in _visible(history):
        its_hash = row_hash(topic, tail(None, row.value()))
        rows.setdefault((row.query_id, row.batch_id), []).append(its_hash)
    decided = _decided(history)
    for each in decided:
        if history.sink.may_be_lost(each.query_id, each.batch_id):
            continue
        hashes = rows.get((each.query_id, each.batch_id), [])
        if each.rows != len(hashes):
            yield f"{_say(each)} has {each.rows} rows in the ledger, and {len(hashes)} are seen"
        elif each.digest != sum(hashes) % MODULUS:
            yield f"{_say(each)} has other rows than those that its digest is of"
        end = history.sink.batches[each.query_id, each.batch_id].end_offset
        if [offset.offset for offset in each.offsets] != [end]:
            yield f"{_say(each)} ends at {each.offsets} in the ledger, and at {end} in the checkpoint"
    end = decided[-1].offsets[0].offset if decided else -1
    if history.sink.offset != end:
        yield f"the source's group is at {history.sink.offset}, and the last decision at {end}"


def left_open(history: History) -> Iterator[str]:
    """When all is over, no transaction of the sink is open, and the ledger can be read to its end."""
    for each in history.sink.left_open:
        yield f"{each} has a transaction that nobody ended"
    stable, end = history.sink.ledger_ends
    if stable != end:
        yield f"the ledger can be read up to {stable}, of {end}"


def wrong_failures(history: History) -> Iterator[str]:
    """The sink reports no loss and no contradiction: nobody interferes with its transactions or its ledger."""
    every: list[Attempt | CommitCall] = [*history.sink.attempts, *history.sink.calls]
    for each in every:
        if any(sentence in each.result for sentence in _NEVER):
            yield each.line()


RULES = (
    *(wrong_ledger, rows_not_once, rows_of_others, rows_before_decision, wrong_losses, ledger_lies, left_open),
    wrong_failures,
)


def _ledger(history: History) -> Iterator[LedgerRecord | None]:
    for _, value in history.sink.ledger:
        try:
            yield decode_value(value)
        except LedgerDamaged:
            yield None


def _decided(history: History) -> list[Decided]:
    return [each for each in _ledger(history) if isinstance(each, Decided)]


def _visible(history: History) -> list[tuple[str, Row]]:
    """The rows that readers of committed records see at the end, each with its topic."""
    found = [
        (topic, row_of(value))
        for (topic, _), records in seen(history.final, is_committed=True).items()
        for _, value in records
    ]
    return [(topic, row) for topic, row in found if row is not None]


def _say(record: LedgerRecord) -> str:
    return f"run {record.run_id}" if isinstance(record, Run) else f"{record.query_id}:{record.batch_id}"
