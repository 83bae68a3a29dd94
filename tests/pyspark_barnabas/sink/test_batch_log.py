"""What the driver's log says of a query, its batches and its recoveries."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from pyspark_barnabas.commit.batch import Batch
from pyspark_barnabas.commit.identity import RunToken, Sink
from pyspark_barnabas.commit.ledger import Decided, Ledger, Run
from pyspark_barnabas.commit.messages import Prepared, PreparedTransaction, Skipped, WrittenPartition
from pyspark_barnabas.reporting.own_log import own_log
from pyspark_barnabas.sink import batch_log

OLD, RUN = RunToken(1, 0), RunToken(1, 1)
BATCH = Batch(Sink("shop", "q"), "r", RUN, 5)
FIRST, SECOND = PreparedTransaction("shop.1-0.0.10", 20, 0), PreparedTransaction("shop.1-0.1.11", 21, 3)
NO_TIMEOUT_MS = 2**31 - 1


def decided(batch_id: int, *transactions: PreparedTransaction, run: RunToken = RUN) -> Decided:
    return Decided("q", batch_id, "r", run, 1, transactions, 7, 0, (), None)


def test_the_first_line_comes_with_the_first_batch_of_the_run_that_has_rows() -> None:
    started = Ledger((decided(3, FIRST, run=OLD), Run("q", "r", RUN)))
    assert batch_log.is_first(BATCH, started, decided(4, SECOND))
    assert not batch_log.is_first(BATCH, started, decided(4))
    without_rows = Ledger((*started.records, decided(4)))
    assert batch_log.is_first(BATCH, without_rows, decided(5, SECOND))
    assert not batch_log.is_first(BATCH, Ledger((*without_rows.records, decided(5, SECOND))), decided(6, FIRST))


def test_the_first_line_states_what_becomes_of_transactions_that_nobody_ends() -> None:
    timed = batch_log.describe_query(BATCH, "__shop.ledger", {"shop.1-1.0.1": 900_000})
    for words in (
        "'shop'",
        "__shop.ledger",
        "900000 ms",
        "part of the batch is lost",
        "ledger abandon shop",
        "txn abort",
    ):
        assert words in timed
    endless = batch_log.describe_query(BATCH, "__shop.ledger", {"shop.1-1.0.1": NO_TIMEOUT_MS})
    assert "Transactions have no timeout" in endless
    assert "time out" not in endless
    mixed = {"shop.1-1.0.1": NO_TIMEOUT_MS, "shop.1-1.1.2": 60_000}
    assert "60000 ms" in batch_log.describe_query(BATCH, "__shop.ledger", mixed)


def test_a_batch_is_one_line_of_all_its_tasks() -> None:
    places = (WrittenPartition("orders", 0, 3), WrittenPartition("orders", 1, 1))
    messages = [
        Prepared("q", "r", RUN, 5, 0, FIRST, 3, written=places, sent_bytes=90, began_ms=1_000, prepared_ms=1_400),
        Prepared("q", "r", RUN, 5, 1, SECOND, 4, written=places[:1], sent_bytes=10, began_ms=1_100, prepared_ms=1_800),
    ]
    assert batch_log.describe_batch(BATCH, messages, 1_850, 1_870) == (
        "batch 5 of query q: 7 rows, 100 bytes, 2 partitions; prepare 800 ms, commit 20 ms, total 870 ms"
    )
    skipped = [Skipped("q", "r", RUN, 5, 0)]
    assert "was already decided, so its rows were not written again" in batch_log.describe_batch(BATCH, skipped, 0, 9)


def test_foreign_leftovers_of_an_earlier_run_are_reported_and_own_ones_are_not() -> None:
    told = batch_log.describe_recovery(BATCH, Ledger((decided(4, FIRST, SECOND, run=OLD),)), (SECOND,))
    assert told.startswith("recovery: batch 4 of query q was decided by the run 1-0, but not finished; its 1 open")
    assert batch_log.describe_recovery(BATCH, Ledger((decided(5, FIRST),)), (FIRST,)) == ""
    assert batch_log.describe_sweep(BATCH, ["shop.1-1.0.12"]) == ""
    swept = batch_log.describe_sweep(BATCH, ["shop.1-1.0.12", "shop.1-0.0.10"])
    assert swept.startswith("recovery: 1 transactions of earlier runs")
    assert "shop.1-0.0.10" in swept


@contextmanager
def no_logging() -> Iterator[logging.Logger]:
    """As in a process where nobody set up logging; pytest does so, for each test. All is put back as it was."""
    root, own = logging.getLogger(), logging.getLogger("pyspark_barnabas")
    before = root.handlers[:], own.handlers[:], own.level
    root.handlers[:], own.handlers[:] = [], []
    try:
        yield own
    finally:
        root.handlers[:], own.handlers[:] = before[0], before[1]
        own.setLevel(before[2])


def test_lines_go_to_stderr_where_nobody_set_up_logging_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    with no_logging():
        own_log().info("first")
        own_log().warning("second %s", "time")
    assert [line.split(" ", 2)[2] for line in capsys.readouterr().err.splitlines()] == [
        "INFO pyspark_barnabas: first",
        "WARN pyspark_barnabas: second time",
    ]


def test_logging_that_a_program_set_up_is_left_alone() -> None:
    with no_logging() as own:
        level = own.level
        logging.getLogger().addHandler(logging.NullHandler())
        assert own_log().handlers == []
        assert own.level == level


def test_logging_that_a_program_sets_up_later_takes_over_and_no_line_comes_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with no_logging() as own:
        level = own.level
        own_log().info("first")
        theirs = logging.StreamHandler()
        theirs.setFormatter(logging.Formatter("by theirs %(message)s"))
        logging.getLogger().addHandler(theirs)
        own_log().warning("second")
        assert own.level == level
        logging.getLogger().removeHandler(theirs)
        own.addHandler(theirs)
        own_log().warning("third")
    assert [line.split(" ", 2)[-1] for line in capsys.readouterr().err.splitlines()] == [
        "INFO pyspark_barnabas: first",
        "second",  # which ours would begin with the level
        "third",
    ]


def test_threads_that_write_the_first_line_at_one_time_add_one_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)
    add = logging.Logger.addHandler

    def slow_add(logger: logging.Logger, handler: logging.Handler) -> None:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # until the other one is here, too, which it should not be
        add(logger, handler)

    with no_logging() as own:
        monkeypatch.setattr(logging.Logger, "addHandler", slow_add)
        threads = [threading.Thread(target=own_log) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(own.handlers) == 1
