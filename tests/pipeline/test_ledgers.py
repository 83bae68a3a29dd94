"""What an audit reads out of a ledger, and what it holds against it."""

from dataclasses import replace

from pipeline.ledgers import BatchSum, LedgerContents, LedgerRow, check_ledger, read_ledger
from pipeline.verdict import Verdict
from pyspark_barnabas.commit.identity import RunToken, rescue_run_id
from pyspark_barnabas.commit.ledger import Decided, LedgerRecord, Run, Settled, SourceOffset, encode_value
from pyspark_barnabas.commit.messages import PreparedTransaction

TOPIC = "__shop.ledger"
RUN = RunToken(4711, 2)


def decided(batch_id: int, *, query_id: str = "q") -> Decided:
    return Decided(
        query_id,
        batch_id,
        run_id="r",
        run=RUN,
        sequence=batch_id + 1,
        transactions=(PreparedTransaction(f"shop.4711-2.0.{batch_id}", 5000, batch_id),),
        rows=10 + batch_id,
        digest=100 + batch_id,
        offsets=(SourceOffset("orders", 0, 10 * (batch_id + 1)),),
        checkpoint_hash=None,
    )


def ledger(*records: LedgerRecord) -> LedgerContents:
    return read_ledger(TOPIC, [LedgerRow(2 * at, encode_value(each)) for at, each in enumerate(records)])


def sums(*batches: int) -> dict[int, BatchSum]:
    return {batch: BatchSum(10 + batch, 100 + batch) for batch in batches}


def kinds(read: LedgerContents, found: dict[int, BatchSum], end: int | None) -> dict[str, int]:
    check = check_ledger(TOPIC, read, found, None if end is None else {("orders", 0): end})
    assert (check.verdict is Verdict.RIGHT) == (not check.found)
    return dict(check.found)


def test_a_ledger_that_tells_the_truth_is_right() -> None:
    read = ledger(Run("q", "r", RUN), decided(0), decided(1), decided(2))
    assert kinds(read, sums(0, 1, 2), 30) == {}
    assert read.ends() == {("orders", 0): 30}
    assert read.transactions()[5000, 1] == (1, "shop.4711-2.0.1")


def test_a_ledger_without_a_decision_is_not_called_right() -> None:
    check = check_ledger(TOPIC, ledger(Run("q", "r", RUN)), {}, {})
    assert check.verdict is Verdict.UNKNOWN
    assert "no batch was decided" in (check.unknown or "")


def test_a_record_that_is_missing_is_named_by_its_batch() -> None:
    check = check_ledger(TOPIC, ledger(decided(0), decided(2)), sums(0, 1, 2), {("orders", 0): 30})
    assert dict(check.found) == {"missing decision": 1, "undecided batch": 1}
    assert "the record of 1 is missing" in check.findings[0].detail
    assert check.findings[0].offset == 2
    assert "11 rows name batch 1" in check.findings[1].detail


def test_a_batch_that_is_decided_twice_is_named() -> None:
    assert "decided twice" in kinds(ledger(decided(0), decided(1), decided(1)), sums(0, 1), 20)


def test_each_query_counts_its_own_batches() -> None:
    read = ledger(decided(0), decided(1), decided(0, query_id="other"))
    assert kinds(read, {0: BatchSum(20, 200), 1: BatchSum(11, 101)}, 20) == {}


def test_rows_that_are_missing_or_changed_are_reported_by_their_batch() -> None:
    read = ledger(decided(0), decided(1))
    assert kinds(read, {0: BatchSum(10, 100)}, 20) == {"wrong count": 1}
    assert kinds(read, {**sums(0), 1: BatchSum(11, 7)}, 20) == {"wrong digest": 1}


def test_a_group_that_stands_elsewhere_is_reported() -> None:
    assert kinds(ledger(decided(0)), sums(0), 11) == {"wrong group offset": 1}
    assert kinds(ledger(decided(0)), sums(0), None) == {}


def test_a_record_that_cannot_be_read_is_named_by_its_offset() -> None:
    read = read_ledger(TOPIC, [LedgerRow(0, encode_value(decided(0))), LedgerRow(7, b"{}"), LedgerRow(9, None)])
    assert [(each.kind, each.offset) for each in read.findings] == [("unreadable", 7), ("unreadable", 9)]
    assert kinds(read, sums(0), 10) == {"unreadable": 2}


def test_in_atomic_mode_rows_stand_in_the_transaction_of_the_driver() -> None:
    atomic = replace(decided(0), transactions=(), is_atomic=True)
    assert ledger(atomic).transactions() == {(4711, 2): (0, "of the driver")}


def test_rows_that_recover_copied_are_decided_and_their_aborted_originals_need_not_be_visible() -> None:
    rescue = RunToken(4711, 3)
    records: tuple[LedgerRecord, ...] = decided(0), decided(1), Run("q", rescue_run_id(rescue), rescue)
    read = ledger(*records, Settled("q", 1, rescue_run_id(rescue), rescue, 1))
    assert read.transactions() == {
        (5000, 0): (0, "shop.4711-2.0.0"),
        (5000, 1): (1, "shop.4711-2.0.1"),  # of which others may have been committed
        (4711, 3): (1, "of `recover`"),
    }
    assert read.visible_transactions() == {(5000, 0): (0, "shop.4711-2.0.0")}
    assert kinds(read, sums(0), 20) == {"wrong count": 1}  # whether they are all there is asked of the rows
    by_a_run = ledger(*records, Settled("q", 1, "r", RUN, 3))
    assert by_a_run.visible_transactions() == by_a_run.transactions()
    assert len(by_a_run.transactions()) == 2
