"""What a task tells the driver: that its rows are prepared, or that there was nothing left to do."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_barnabas.commit.identity import RunToken


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A task's open transaction, all of whose records are acknowledged: whoever knows this may end it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task wrote its rows. One without rows began no transaction, as an empty one could not be committed.

    rows, digest: how many, and their order-independent 64-bit hash: the sums over the tasks stand in the ledger.
    """

    query_id: str
    run: RunToken
    batch_id: int
    partition: int
    transaction: PreparedTransaction | None
    rows: int = 0
    digest: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A task found its batch decided, and read its rows without writing them."""

    query_id: str
    run: RunToken
    batch_id: int
    partition: int


Message = Prepared | Skipped
