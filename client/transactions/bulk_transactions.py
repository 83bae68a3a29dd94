"""Many transactions at a time: one request to each coordinator, or several in flight, instead of a round trip each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from barnabas.client.client import TRANSACTION, Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.connections.retries import backoffs_ms
from barnabas.client.errors import raise_for
from barnabas.client.transaction_requests import EXPLICIT, ProducerIdentity, highest_version
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.registry import ApiKey

_UNDER_WAY = 200  # requests are small; so many responses fit into a socket's buffers


def find_transactions(
    client: Client, transactional_ids: Iterable[str], deadline: Deadline | None = None
) -> dict[str, TransactionState | None]:
    """Return the coordinators' state of each id; None for an unknown one."""
    limit = deadline or client.deadline()
    found: dict[str, TransactionState | None] = {}
    wanted = list(dict.fromkeys(transactional_ids))

    def attempt() -> None:
        missing = [each for each in wanted if each not in found]
        failure: KafkaError | None = None
        for connection, ids in _by_coordinator(client, missing, limit).items():
            answer = connection.ask(DescribeTransactionsRequest(transactional_ids=ids), limit)
            for state in answer.transaction_states:
                name = state.transactional_id
                if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                    found[name] = None
                    continue
                try:
                    raise_for(state.error_code, None, f"transactional id {name!r}")
                    found[name] = state
                except KafkaError as error:
                    failure = failure if failure is not None and not failure.code.retriable else error
        if failure is not None:
            raise failure

    client.with_retries(attempt, limit, lambda error: _forget(client, wanted))
    return {each: found[each] for each in wanted}


def end_all(
    client: Client,
    transactions: Mapping[str, ProducerIdentity],
    *,
    commit: bool,
    deadline: Deadline | None = None,
) -> dict[str, KafkaError]:
    """Commit or abort each (in the older protocol), retrying retriable errors; return the errors by id.

    A missing response at the deadline is included, with a retriable code: its outcome is unknown.
    """
    limit = deadline or client.deadline()
    refused: dict[str, KafkaError] = {}
    left = dict(transactions)
    for pause_ms in backoffs_ms():
        refused |= (outcome := _end(client, left, commit, limit))
        left = {name: left[name] for name, error in outcome.items() if error.code.retriable}
        if not left or limit.left_ms <= pause_ms:
            return refused
        for name in left:
            del refused[name]
        client.clock.sleep(pause_ms / 1000)
        _forget(client, [each for each in left if outcome[each].code is not ErrorCode.CONCURRENT_TRANSACTIONS])
    raise AssertionError("the pauses never end")


def _end(
    client: Client, transactions: Mapping[str, ProducerIdentity], commit: bool, deadline: Deadline
) -> dict[str, KafkaError]:
    """Try to end each once; return the errors."""
    errors: dict[str, KafkaError] = {}
    try:
        by_coordinator = _by_coordinator(client, list(transactions), deadline)
    except KafkaError as error:
        return dict.fromkeys(transactions, error)
    for connection, ids in by_coordinator.items():
        for some in _some_at_a_time(ids):
            unanswered = list(some)
            try:
                for name in some:
                    request = EndTxnRequest(
                        transactional_id=name,
                        producer_id=transactions[name].producer_id,
                        producer_epoch=transactions[name].producer_epoch,
                        committed=commit,
                    )
                    highest = highest_version(ApiKey.END_TXN, EXPLICIT)
                    connection.send(request, deadline, highest_version=highest)
                for name in some:
                    answer = connection.receive(deadline)
                    unanswered.remove(name)
                    refusal = _error(answer.error_code, f"{'commit' if commit else 'abort'} of {name!r}")
                    if refusal is not None:
                        errors[name] = refusal
            except KafkaError as error:
                errors |= dict.fromkeys(unanswered, error)
    return errors


def _by_coordinator(client: Client, ids: Sequence[str], deadline: Deadline) -> dict[BrokerConnection, list[str]]:
    client.find_coordinators(TRANSACTION, ids, deadline)
    found: dict[BrokerConnection, list[str]] = {}
    for each in ids:
        found.setdefault(client.coordinator(TRANSACTION, each, deadline), []).append(each)
    return found


def _error(code: int, where: str) -> KafkaError | None:
    try:
        raise_for(code, None, where)
    except KafkaError as error:
        return error
    return None


def _forget(client: Client, ids: Iterable[str]) -> None:
    for each in ids:
        client.forget_coordinator(TRANSACTION, each)


def _some_at_a_time(ids: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(ids)
    while some := list(islice(rest, _UNDER_WAY)):
        yield some
