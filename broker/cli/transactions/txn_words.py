"""`barnabas txn` in words: ages, offsets, and waiting consumers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from barnabas.broker.cli.terminal.output import counted
from barnabas.client.admin.transactions import PartitionProducer, TransactionHold, TransactionInfo
from barnabas.protocol.log_records.transaction_states import OPEN_STATES, PREPARE_ABORT, PREPARE_COMMIT

NO_TIMEOUT_MS = 2_147_483_647  # the timeout of a producer of two-phase commits
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))


def duration(ms: int) -> str:
    """Return `412 ms`, `3 min 12 s`, `2 h 5 min`: the two largest units that are not 0."""
    if ms < 1000:
        return f"{max(0, ms)} ms"
    parts: list[str] = []
    for name, size in _UNITS:
        if ms >= size or parts:
            parts.append(f"{ms // size} {name}")
            ms %= size
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if not part.startswith("0 "))


def moment(ms: int) -> str:
    """Return a time in UTC, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def age_ms(txn: TransactionInfo, now_ms: int) -> int | None:
    """Return how long the transaction has been open; None if there is none."""
    is_open = txn.state in OPEN_STATES and txn.start_timestamp_ms >= 0
    return max(0, now_ms - txn.start_timestamp_ms) if is_open else None


def standing(txn: TransactionInfo, now_ms: int) -> str:
    """Return the state, and the age compared with the timeout."""
    age = age_ms(txn, now_ms)
    if age is None:
        return f"{txn.state}: no open transaction"
    since = f"{txn.state} for {duration(age)}, since {moment(txn.start_timestamp_ms)}"
    if txn.state == PREPARE_COMMIT:
        return f"{since}: committed, its markers are being written"
    if txn.state == PREPARE_ABORT:
        return f"{since}: aborted, its markers are being written"
    if txn.timeout_ms == NO_TIMEOUT_MS:
        return f"{since}, without a timeout (two-phase commits)"
    if age > txn.timeout_ms:
        return f"{since}: {duration(age - txn.timeout_ms)} beyond its timeout of {duration(txn.timeout_ms)}"
    return f"{since}: aborted in {duration(txn.timeout_ms - age)} at the earliest, unless it ends earlier"


def waiting(hold: TransactionHold, producer_id: int, since_ms: int, now_ms: int) -> str:
    """Return a sentence about the consumers that are held back in one partition."""
    place = f"{hold.topic}-{hold.partition}"
    if hold.held_back == 0:
        return f"{place}: no record after it, so no reader waits (from offset {hold.txn_start_offset})"
    stop = (
        f"{place}: readers of committed records stop at offset {hold.last_stable_offset} of {hold.high_watermark}, "
        f"{counted(hold.held_back, 'offset')} held back"
    )
    if hold.in_front != producer_id:
        return f"{stop} by producer {hold.in_front}, which is earlier; this one began at {hold.txn_start_offset}"
    return f"{stop} for {duration(now_ms - since_ms)}"


def blocked(txn: TransactionInfo, holds: Sequence[TransactionHold], now_ms: int) -> list[str]:
    """Return one sentence for each partition of a transaction."""
    held = {(hold.topic, hold.partition) for hold in holds}
    sentences = [waiting(hold, txn.producer_id, txn.start_timestamp_ms, now_ms) for hold in holds]
    quiet = [f"{topic}-{number}" for topic, number in txn.partitions if (topic, number) not in held]
    if quiet:
        sentences.append(
            f"no open transaction in {', '.join(quiet)}: no record written yet, or its marker is already written"
        )
    return sentences


def hanging(producer: PartitionProducer, hold: TransactionHold, now_ms: int) -> list[str]:
    """Return the hanging transaction, the waiting consumers, and the command that ends it."""
    place = f"{producer.topic}-{producer.partition}"
    written = f"last written {moment(producer.last_timestamp_ms)}, {duration(now_ms - producer.last_timestamp_ms)} ago"
    return [
        f"{place}: a transaction of producer {producer.producer_id} (epoch {producer.producer_epoch}) is open since "
        f"offset {producer.txn_start_offset}, and no coordinator will end it; {written}",
        f"  {waiting(hold, producer.producer_id, producer.last_timestamp_ms, now_ms)}",
        f"  barnabas txn abort --partition {producer.topic}:{producer.partition} "
        f"--start-offset {producer.txn_start_offset}",
    ]
