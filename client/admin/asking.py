"""How administration asks: until it is done or the client's timeout is over.

What is left then, and what does not pass, is a KafkaError with the broker's code and words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import Connection
from barnabas.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")

# A topic that is not there is an answer for an administrator: nobody is about to create it.
FINAL = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


def ask_controller(client: Client, attempt: Callable[[Connection, Deadline], T]) -> T:
    """What `attempt` makes of the controller's answer."""
    deadline = client.deadline()
    return client.with_retries(lambda: attempt(client.controller(deadline), deadline), deadline, final=FINAL)


def no_answer(where: str) -> KafkaError:
    """The error for an answer that leaves out what was asked for."""
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where} is missing from the answer")
