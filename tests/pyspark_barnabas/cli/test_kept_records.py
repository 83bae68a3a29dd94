"""What is kept of a ledger that is read as a whole."""

from pyspark_barnabas.cli import ledger_summary
from pyspark_barnabas.cli.ledger_summary import LedgerSummary
from pyspark_barnabas.cli.sink_state import StoredRecord
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Decided, Ledger, LedgerRecord, Run, Settled, SourceOffset
from pyspark_barnabas.commit.messages import PreparedTransaction

TOKEN = RunToken(1, 0)
STARTS = [Run("other", "r", TOKEN)] * (ledger_summary._END_RECORDS + 1)


def decided(query: str, batch_id: int, *, is_stream: bool = True) -> Decided:
    transactions = (PreparedTransaction(f"p.1-0.0.{batch_id}", 20, batch_id),)
    offsets = (SourceOffset("orders", 0, batch_id),) if is_stream else ()
    return Decided(query, batch_id, "r", TOKEN, 0, transactions, 1, 0, offsets, None)


def settled(query: str, batch_id: int) -> Settled:
    return Settled(query, batch_id, "r", TOKEN, 0)


def keep(*records: LedgerRecord) -> list[LedgerRecord]:
    """What is kept once so much came after the records that none of them is in the ledger's end."""
    made = LedgerSummary()
    for at, each in enumerate([*records, *STARTS]):
        made.add(StoredRecord(2 * at, 0, each))
    return [each.record for each in made.records() if not isinstance(each.record, Run)]


def test_a_decision_that_is_not_finished_is_kept_however_much_comes_after_it_with_the_one_before_it() -> None:
    batches = [decided("q", each) for each in range(5)]
    others: list[LedgerRecord] = [decided("other", 0), settled("other", 0)]
    assert keep(*batches, *others) == [*batches[-2:], *others]


def test_a_settled_batch_stays_settled_with_its_source_offsets() -> None:
    records: list[LedgerRecord] = [decided("q", 3), decided("q", 4), settled("q", 4), decided("other", 0)]
    assert keep(*records) == records
    ledger = Ledger(tuple(keep(*records)))
    assert [ledger.is_settled(each) for each in records if isinstance(each, Decided)] == [True, True, False]
    assert keep(*records, decided("q", 5)) == [decided("q", 4), decided("other", 0), decided("q", 5)]


def test_of_batch_writes_nothing_is_kept_once_they_are_finished_but_the_newest() -> None:
    writes: list[LedgerRecord] = []
    for at in range(50):
        writes += [decided(f"w{at}", 0, is_stream=False), settled(f"w{at}", 0)]
    assert keep(*writes) == writes[-2:]
    lost = decided("lost", 0, is_stream=False)
    assert keep(*writes, lost, decided("q", 0)) == [lost, decided("q", 0)]


def test_the_end_is_kept_as_it_is_and_everything_once() -> None:
    made = LedgerSummary()
    records = [StoredRecord(at, 0, decided("q", at)) for at in range(ledger_summary._END_RECORDS + 10)]
    for each in records:
        made.add(each)
    assert made.records() == tuple(records[-ledger_summary._END_RECORDS :])
