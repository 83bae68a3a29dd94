"""An answer of `why` with the buttons for what it names: a request that is held up, and a transaction that is open.

They are taken from the evidence, not from the sentences, which contain names that clients chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.http.console.queries.transactions import find, holds, what_abort_does
from barnabas.broker.insight.inspection.groups import groups_in_transaction

if TYPE_CHECKING:
    from barnabas.broker.insight.why.rules.answer import WhyAnswer
    from barnabas.broker.services import Services

EACH_MAX = 5
_HOLDS_MAX = 20


class LiftedFault(NamedTuple):
    """A fault that holds something up. what: release, which lets it go on, or disarm."""

    name: str
    what: str


class Abortable(NamedTuple):
    """An open transaction. effects: of an abort, in sentences."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    effects: list[str]


class AnswerShown(NamedTuple):
    """An answer, and its buttons. here: the page to which they lead back."""

    sentences: tuple[str, ...]
    faults: list[LiftedFault]
    transactions: list[Abortable]
    here: str


def shown(services: Services, answer: WhyAnswer, here: str) -> AnswerShown:
    """Return the answer with its buttons, some of them if there are many."""
    faults: dict[str, LiftedFault] = {}
    ids: dict[str, None] = {}
    for each in _maps(answer.evidence):
        if "fault" in each and "does" in each:
            lifted = LiftedFault(each["fault"], "release" if each["does"] == "pause" else "disarm")
            faults.setdefault(lifted.name, lifted)
        elif each.get("state") == TransactionState.ONGOING.value and "transactional_id" in each:
            ids.setdefault(each["transactional_id"])
    found = (_abortable(services, each) for each in list(ids)[:EACH_MAX])
    transactions = [each for each in found if each is not None]
    return AnswerShown(answer.sentences, list(faults.values())[:EACH_MAX], transactions, here)


def _abortable(services: Services, transactional_id: str) -> Abortable | None:
    """Return the open transaction of an id; None if it has ended."""
    txn = find(services, transactional_id)
    if txn is None or txn.state is not TransactionState.ONGOING:
        return None
    groups = sorted(groups_in_transaction(services, txn.producer_id))
    effects = what_abort_does(txn, list(holds(services, txn, _HOLDS_MAX)), groups)
    return Abortable(transactional_id, *txn.holder, effects)


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object of the evidence, with those inside it."""
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _maps(each)
