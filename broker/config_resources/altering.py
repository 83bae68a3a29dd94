"""The resources whose settings a request alters: each is altered, or refused, by itself, and none that is named twice.

Knows what AlterConfigs and IncrementalAlterConfigs have in common; what altering means is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from barnabas.broker.catalogue.topics import duplicates
from barnabas.protocol.errors import ErrorCode, KafkaError


class Resource(Protocol):
    """What both requests say of a resource."""

    resource_type: int
    resource_name: str


R = TypeVar("R", bound=Resource)


class Altered(NamedTuple):
    """What became of one resource: NONE and no message, or why it is as it was."""

    resource_type: int
    resource_name: str
    code: ErrorCode
    message: str | None


def alter_each(resources: Sequence[R], alter: Callable[[R], None]) -> list[Altered]:
    """Call `alter` for each resource, which may raise KafkaError; all copies of one that is named twice are refused."""
    twice = duplicates((resource.resource_type, resource.resource_name) for resource in resources)
    answers = []
    for resource in resources:
        kind, name = resource.resource_type, resource.resource_name
        try:
            if (kind, name) in twice:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            alter(resource)
        except KafkaError as refusal:
            answers.append(Altered(kind, name, refusal.code, refusal.message))
        else:
            answers.append(Altered(kind, name, ErrorCode.NONE, None))
    return answers
