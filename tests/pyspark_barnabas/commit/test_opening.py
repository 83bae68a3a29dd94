"""Who takes the run's token, who waits for it, and from which ledger a task goes on."""

from dataclasses import replace

import pytest

from pyspark_barnabas.commit.identity import RunToken, Sink
from pyspark_barnabas.commit.ledger import Decided, Ledger, LedgerRecord, Run, Settled
from pyspark_barnabas.commit.opening import (
    ANSWER_MS,
    PATIENCE_MS,
    UNANSWERED_MS,
    Opening,
    OpeningView,
    next_step,
    patience_ms,
)
from pyspark_barnabas.commit.steps import Fail, ReadLedger, Register, TakeToken, UseToken, Wait

MINE, OTHER = RunToken(7, 3), RunToken(7, 2)
FIRST = Opening(Sink("p", "q"), "mine", partition=0)
SECOND = replace(FIRST, partition=1)
RECORD = Run("q", "mine", MINE)
BEFORE: tuple[LedgerRecord, ...] = (Run("q", "other", OTHER), Decided("q", 4, "other", OTHER, 1, (), 0, 0, (), None))
OPEN, REGISTERED = OpeningView(Ledger(BEFORE)), OpeningView(Ledger((*BEFORE, RECORD)))


def test_the_ledger_is_read_before_anything_else() -> None:
    for view in (OpeningView(), OpeningView(taken=MINE), OpeningView(is_registered=True), OpeningView(is_fenced=True)):
        assert next_step(FIRST, view) == ReadLedger()


def test_the_task_at_partition_0_takes_the_token_and_the_others_wait() -> None:
    for view in (OPEN, OpeningView(Ledger())):
        assert next_step(FIRST, view) == TakeToken("p.driver")
        assert isinstance(next_step(SECOND, view), Wait)


def test_a_long_waiter_takes_the_memory_too() -> None:
    assert isinstance(next_step(SECOND, replace(OPEN, waited_ms=patience_ms(SECOND) - 1)), Wait)
    assert next_step(SECOND, replace(OPEN, waited_ms=patience_ms(SECOND))) == TakeToken("p.driver")


def test_not_all_lose_their_patience_at_once() -> None:
    assert len({patience_ms(replace(FIRST, partition=each)) for each in range(8)}) == 8
    assert max(patience_ms(replace(FIRST, partition=each)) for each in range(5000)) <= 3 * PATIENCE_MS


def test_the_task_with_the_token_registers_it_once_per_run() -> None:
    assert next_step(FIRST, replace(OPEN, taken=MINE)) == Register(RECORD)
    assert next_step(FIRST, replace(REGISTERED, taken=RunToken(7, 4))) == UseToken(MINE)


@pytest.mark.parametrize(
    "newest",
    [RECORD, Decided("q", 5, "mine", MINE, 1, (), 0, 0, (), None), Settled("q", 4, "mine", MINE, 1)],
    ids=["run", "decided", "settled"],
)
def test_any_record_of_the_run_shows_its_token(newest: LedgerRecord) -> None:
    for opening in (FIRST, SECOND):
        assert next_step(opening, OpeningView(Ledger((*BEFORE, newest)))) == UseToken(MINE)


def test_nothing_is_registered_twice() -> None:
    for view in (replace(OPEN, taken=MINE, is_registered=True), replace(OPEN, taken=MINE, is_fenced=True)):
        assert isinstance(next_step(FIRST, view), Wait)
        assert isinstance(next_step(FIRST, replace(view, waited_ms=patience_ms(FIRST))), Fail)


def test_after_an_end_without_an_answer_the_record_is_looked_for_and_then_another_token_is_taken() -> None:
    unanswered = replace(OPEN, taken=MINE, unanswered_ms=ANSWER_MS - 1)
    assert isinstance(next_step(FIRST, unanswered), Wait)
    assert next_step(FIRST, replace(unanswered, unanswered_ms=ANSWER_MS)) == TakeToken("p.driver")
    assert next_step(FIRST, replace(REGISTERED, taken=MINE, unanswered_ms=ANSWER_MS)) == UseToken(MINE)
    step = next_step(FIRST, replace(unanswered, unanswered_ms=ANSWER_MS, waited_ms=UNANSWERED_MS))
    assert isinstance(step, Fail)
    assert step.sentence.startswith("the brokers do not answer the ends of transactions of 'p.driver'")


def test_a_run_that_another_one_came_after_stops_with_a_sentence() -> None:
    ledger = Ledger((RECORD, *BEFORE))
    for view in (OpeningView(ledger), OpeningView(ledger, taken=MINE), OpeningView(ledger, waited_ms=10**6)):
        step = next_step(FIRST, view)
        assert isinstance(step, Fail)
        assert "another run took over the sink 'p' from run mine" in step.sentence
