"""The coordinators' reports on a sink's transactions: the state of each, and which are open under a prefix."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.admin.transactions import list_transactions
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import UnsupportedByBroker
from barnabas.client.transaction_requests import ProducerIdentity
from barnabas.client.transactions.bulk_transactions import find_transactions
from barnabas.protocol.messages.describe_transactions import TransactionState
from pyspark_barnabas.commit.identity import task_pattern
from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.commit.prepared_state import View


def view_of(state: TransactionState | None) -> View | None:
    """Return the part of the state that the commit protocol needs."""
    return None if state is None else View(state.transaction_state, state.producer_id, state.producer_epoch)


def views(client: Client, ids: Iterable[str], deadline: Deadline | None = None) -> dict[str, View | None]:
    """Return the state of each id; None for an unknown one."""
    return {name: view_of(state) for name, state in find_transactions(client, ids, deadline).items()}


def list_ids(client: Client, prefix: str, states: Iterable[str]) -> frozenset[str]:
    """Return the ids in these states, by the prefix's pattern if brokers support patterns; all of them otherwise."""
    wanted = sorted(states)
    try:
        listed = list_transactions(client, states=wanted, pattern=task_pattern(prefix))
    except UnsupportedByBroker:
        listed = list_transactions(client, states=wanted)
    return frozenset(each.transactional_id for each in listed)


def identities(transactions: Iterable[PreparedTransaction]) -> dict[str, ProducerIdentity]:
    """Return the producers of transactions that have to be ended."""
    return {each.transactional_id: ProducerIdentity(each.producer_id, each.producer_epoch) for each in transactions}
