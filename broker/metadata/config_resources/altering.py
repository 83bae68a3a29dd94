"""Alters the settings of a request's resources: each one is altered or refused by itself; one named twice is refused.

Contains what AlterConfigs and IncrementalAlterConfigs have in common; each of them defines how it alters. Resources of
a request are altered in one change of the catalogue, or of a large request in several
(`broker/metadata/split_changes.py`).
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from barnabas.broker.metadata.catalogue.catalogue import Catalogue
from barnabas.broker.metadata.catalogue.config_alterations import SettingsWish
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, TOPIC_RESOURCE
from barnabas.broker.metadata.image.topic_changes import duplicates
from barnabas.broker.metadata.split_changes import CHANGES, in_changes
from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work
from barnabas.protocol.errors import ErrorCode, KafkaError

SLICE_SETTINGS = 50
"""How many settings are changed (some 80 us each) before other work is done."""
_PARTITIONS_PER_SETTING = 50
"""The number of logs for which applying a setting takes as long as changing it."""


A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class AlteredResource(Protocol):
    """The fields of a resource that both requests have."""

    resource_type: int
    resource_name: str

    @property
    def configs(self) -> Sequence[object]: ...


class AnswerFactory(Protocol[A_co]):
    """Creates the answer for a resource."""

    def __call__(
        self, *, error_code: ErrorCode, error_message: str | None, resource_type: int, resource_name: str
    ) -> A_co: ...


R = TypeVar("R", bound=AlteredResource)
Wish: TypeAlias = Callable[[R], SettingsWish | Future[None] | None]
Refusals: TypeAlias = dict[int, KafkaError | None]
"""By the index of a resource; None if it was not refused."""


class Altered(NamedTuple):
    """The results of altering resources, by their indexes."""

    refusals: Refusals
    to_wait_for: dict[int, Future[None]]
    """The futures of the alterations that are still running."""


class AlterContext(NamedTuple):
    """The context in which settings are changed."""

    catalogue: Catalogue
    upkeep: CooperativeScheduler
    as_current_request: Callable[[Callable[[], Altered]], Altered]
    """Calls a function as a part of the current request, like `current_request.keep_current_request`."""
    validate_only: bool


def alter_each(
    resources: Sequence[R], wish: Wish[R], answer: AnswerFactory[A], change: AlterContext
) -> list[A] | Future[list[A]]:
    """Alter each resource as `wish` says, which may raise KafkaError. It returns None if it has altered the resource
    itself, or a future if it does so until the future is done.

    All copies of a resource that is named twice are refused.
    """
    return change.upkeep.to_the_end(lambda: _alter_all(resources, wish, answer, change), CHANGES)


def _alter_all(resources: Sequence[R], wish: Wish[R], answer: AnswerFactory[A], change: AlterContext) -> Work[list[A]]:
    twice = duplicates((resource.resource_type, resource.resource_name) for resource in resources)

    def wanted(resource: R) -> SettingsWish | Future[None] | None:
        if (resource.resource_type, resource.resource_name) in twice:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        return wish(resource)

    answers: list[A] = []
    for some in in_changes(resources, partial(_size, change.catalogue), SLICE_SETTINGS):
        if answers:
            yield None
        refusals, to_wait_for = change.as_current_request(partial(_alter, some, wanted, change))
        for number, awaited in to_wait_for.items():
            yield awaited
            refusals[number] = _refusal(awaited)
        answers += [_answered(resource, refusals.get(number), answer) for number, resource in enumerate(some)]
    return answers


def _size(catalogue: Catalogue, resource: AlteredResource) -> int:
    """Return the size of a change. A broker's settings and those for all brokers must not be in the same change."""
    if resource.resource_type == BROKER_RESOURCE:
        return SLICE_SETTINGS
    topic = catalogue.topics.get(resource.resource_name) if resource.resource_type == TOPIC_RESOURCE else None
    return len(resource.configs) + (0 if topic is None else len(topic.partitions) // _PARTITIONS_PER_SETTING)


def _refusal(awaited: Future[None]) -> KafkaError | None:
    try:
        awaited.result()
    except KafkaError as refusal:
        return refusal.as_value()
    return None


def _alter(resources: Sequence[R], wanted: Wish[R], change: AlterContext) -> Altered:
    """Alter the resources of one change."""
    refusals: Refusals = {}
    wishes: dict[int, SettingsWish] = {}
    to_wait_for: dict[int, Future[None]] = {}
    for number, resource in enumerate(resources):
        try:
            wish = wanted(resource)
        except KafkaError as refusal:
            refusals[number] = refusal.as_value()
        else:
            if isinstance(wish, SettingsWish):
                wishes[number] = wish
            elif wish is not None:
                to_wait_for[number] = wish
    try:
        results = change.catalogue.change_settings(wishes.values(), validate_only=change.validate_only)
    except KafkaError as failure:
        results = [failure.as_value()] * len(wishes)
    return Altered(refusals | dict(zip(wishes, results, strict=True)), to_wait_for)


def _answered(resource: AlteredResource, why: KafkaError | None, answer: AnswerFactory[A]) -> A:
    return answer(
        error_code=ErrorCode.NONE if why is None else why.code,
        error_message=None if why is None else why.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
