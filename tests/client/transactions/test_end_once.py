"""An end that is sent once: it is repeated only after an answer that says that it had no effect."""

import pytest

from barnabas.client.client import Client
from barnabas.client.transaction_requests import EndUnanswered, ProducerIdentity, end_once
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import HANG_UP, Answer
from tests.support.scripted.coordinator import ScriptedCoordinator

E = ErrorCode


def ended(*answers: ErrorCode | Answer) -> tuple[KafkaError | None, int]:
    """The failure of an end with these answers, and how often it was sent."""
    with ScriptedCoordinator(1) as broker, Client(broker.address, timeout_ms=5_000) as client:
        broker.fail(ApiKey.END_TXN, *answers)
        try:
            end_once(client, "t", ProducerIdentity(7, 0), commit=True, deadline=client.deadline())
        except KafkaError as error:
            return error, len(broker.of(EndTxnRequest))
        return None, len(broker.of(EndTxnRequest))


def test_it_is_repeated_after_answers_that_say_that_it_had_no_effect() -> None:
    assert ended(E.NONE) == (None, 1)
    assert ended(E.CONCURRENT_TRANSACTIONS, E.CONCURRENT_TRANSACTIONS, E.NONE) == (None, 3)


@pytest.mark.parametrize(
    "answer",
    [HANG_UP, E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.REQUEST_TIMED_OUT],
    ids=lambda answer: answer.name if isinstance(answer, ErrorCode) else "the connection is closed",
)
def test_without_an_answer_that_says_so_its_effect_is_not_known(answer: ErrorCode | Answer) -> None:
    failure, sent = ended(E.CONCURRENT_TRANSACTIONS, answer)
    assert isinstance(failure, EndUnanswered)
    assert not failure.code.retriable
    assert sent == 2


@pytest.mark.parametrize("code", [E.PRODUCER_FENCED, E.INVALID_TXN_STATE])
def test_a_refusal_is_raised(code: ErrorCode) -> None:
    failure, sent = ended(code)
    assert failure is not None
    assert (failure.code, sent) == (code, 1)
