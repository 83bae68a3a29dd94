"""Requests of the admin functions: retried until they succeed or the client's timeout is over.

After the timeout, or for a final error, they raise a KafkaError with the broker's code and message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")

# A missing topic is a final error for an administrator: no other client is about to create it.
FINAL = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


def request_controller(client: Client, attempt: Callable[[BrokerConnection, Deadline], T]) -> T:
    """Return the result of `attempt` with the controller."""
    deadline = client.deadline()
    return client.with_retries(lambda: attempt(client.controller(deadline), deadline), deadline, final=FINAL)


def request_coordinator(client: Client, group: str, attempt: Callable[[BrokerConnection, Deadline], T]) -> T:
    """Return the result of `attempt` with the coordinator of the group."""
    deadline = client.deadline()
    return client.with_retries(
        lambda: attempt(client.coordinator(GROUP, group, deadline), deadline),
        deadline,
        lambda error: client.forget_coordinator(GROUP, group),
        final=FINAL,
    )


def no_answer(where: str) -> KafkaError:
    """Return the error for a response that lacks the requested object."""
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where} is missing from the answer")
