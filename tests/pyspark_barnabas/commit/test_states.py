"""The table of states is total, and says of the commit point what its page says."""

from itertools import product

import pytest

from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.commit.prepared_state import PreparedState, View, prepared_state
from pyspark_barnabas.commit.states import TABLE, Act, Call, CommitState, Do, on

DECIDED = (CommitState.DECIDED, CommitState.VISIBLE, CommitState.LOST)
OURS = PreparedTransaction("p.1-0.0.0", 9, 3)


def test_every_call_has_an_answer_in_every_state() -> None:
    assert set(TABLE) == set(product(CommitState, Call))


def test_a_decided_batch_is_never_written_aborted_or_decided_again() -> None:
    acts = {answer.act for state in DECIDED for call in Call if isinstance(answer := on(state, call), Do)}
    assert acts == {Act.SKIP_AND_DRAIN, Act.ROLL_FORWARD, Act.FINISH, Act.NOTHING}


def test_only_what_was_looked_at_is_decided() -> None:
    assert [key for key, answer in TABLE.items() if answer == Do(Act.DECIDE)] == [(CommitState.PREPARED, Call.COMMIT)]


def test_in_doubt_abort_leaves_everything() -> None:
    in_doubt = (*DECIDED, CommitState.PENDING, CommitState.CONTRADICTED, CommitState.FENCED)
    assert {on(state, Call.ABORT) for state in in_doubt} == {Do(Act.NOTHING)}


@pytest.mark.parametrize(
    ("view", "became"),
    [
        (View("Ongoing", 9, 3), PreparedState.OPEN),
        (View("Ongoing", 9, 4), PreparedState.UNKNOWN),
        (View("Ongoing", 8, 3), PreparedState.UNKNOWN),
        (View("PrepareCommit", 9, 3), PreparedState.COMMITTED),
        (View("CompleteCommit", 9, 3), PreparedState.COMMITTED),
        (View("CompleteCommit", 9, 4), PreparedState.COMMITTED),  # the newer protocol's end
        (View("CompleteCommit", 9, 5), PreparedState.UNKNOWN),
        (View("CompleteCommit", 10, 0), PreparedState.UNKNOWN),
        (View("PrepareAbort", 9, 3), PreparedState.ABORTED),
        (View("CompleteAbort", 9, 4), PreparedState.ABORTED),
        (View("PrepareEpochFence", 9, 4), PreparedState.ABORTED),
        (View("Empty", 9, 3), PreparedState.UNKNOWN),
        (View("Empty", 9, 4), PreparedState.UNKNOWN),
        (View("a state of the future", 9, 3), PreparedState.UNKNOWN),
        (None, PreparedState.UNKNOWN),
    ],
)
def test_the_outcome_of_a_transaction(view: View | None, became: PreparedState) -> None:
    assert prepared_state(OURS, view) is became


def test_the_end_that_uses_up_the_epochs_is_reported_as_another_producers() -> None:
    last = PreparedTransaction("p.1-0.0.0", 9, 32766)
    assert prepared_state(last, View("CompleteCommit", 12, 0)) is PreparedState.COMMITTED
    assert prepared_state(last, View("CompleteAbort", 12, 0)) is PreparedState.ABORTED
    assert prepared_state(last, View("Empty", 12, 0)) is PreparedState.UNKNOWN
