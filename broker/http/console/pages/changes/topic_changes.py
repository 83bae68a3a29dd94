"""Topics created, changed and deleted by a form. What the broker refuses is refused with its sentence.

Internal topics are not changed here, and a deletion is confirmed by the topic's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.broker.config.resources.topic_configs import CREATED_PARTITIONS_MAX, TOPIC_KEYS
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import Action
from barnabas.broker.http.console.pages.topics import named_topic
from barnabas.broker.http.console.params import CONFLICT, Refused, RequestParams
from barnabas.broker.http.console.rendering import url
from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.image.topic_changes import NewPartitions
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.services import Services

_log = logger("control")
_TOPIC = 2
"""The number of topics among the types of resources that have settings."""


async def _create(observed: ConsoleContext, params: RequestParams) -> str:
    """Create a topic with the given number of partitions, or that of num.partitions."""
    services, name = observed.services, params.needed("name")
    partitions = params.number("partitions", -1, least=-1, most=CREATED_PARTITIONS_MAX)
    with _refusals():
        services.disk_space.check_may_grow()
        services.catalogue.create_topic(name, partitions)
    _log.info(line("topic created by hand", topic=name))
    return url(f"/topics/{name}")


async def _add_partitions(observed: ConsoleContext, params: RequestParams) -> str:
    """Give a topic more partitions: `total` in all."""
    services, name = observed.services, _changeable(observed.services, params)
    total = params.number("total", 0, least=1, most=CREATED_PARTITIONS_MAX)
    with _refusals():
        services.disk_space.check_may_grow()
        (refusal,) = services.catalogue.create_partitions([NewPartitions(name, total)])
        if refusal is not None:
            raise refusal
    _log.info(line("partitions added by hand", topic=name, partitions=total))
    return url(f"/topics/{name}")


async def _set(observed: ConsoleContext, params: RequestParams) -> str:
    """Set one setting of a topic, or remove it, so that the broker's applies again."""
    services, name = observed.services, _changeable(observed.services, params)
    key = params.needed("key")
    if key not in TOPIC_KEYS:
        raise Refused(f"topics have no setting {key}{did_you_mean(key, TOPIC_KEYS)}")
    is_removed = params.one_of("how", "set", "remove") == "remove"
    how = AlterConfigOp.DELETE if is_removed else AlterConfigOp.SET
    alteration = Alteration(key, how, None if is_removed else params.word("value"))
    with _refusals():
        services.catalogue.alter_configs(_TOPIC, name, [alteration])
    _log.info(line("setting changed by hand", topic=name, key=key))
    return url(f"/topics/{name}")


async def _delete(observed: ConsoleContext, params: RequestParams) -> str:
    """Delete a topic with its records, if its name was typed in confirmation."""
    services, name = observed.services, _changeable(observed.services, params)
    if params.word("confirmation") != name:
        raise Refused(f"nothing was deleted: type {name} to confirm it", CONFLICT)
    with _refusals():
        services.catalogue.delete_topics([name])
    _log.info(line("topic deleted by hand", topic=name))
    return url("/topics")


def _changeable(services: Services, params: RequestParams) -> str:
    """Return the name of the path's topic. Raise Refused if it does not exist, or is internal."""
    topic = named_topic(services, params)
    if topic.is_internal:
        raise Refused(f"{topic.name} is an internal topic: only the broker changes it")
    return topic.name


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the catalogue refuses into a refusal of the request."""
    try:
        yield
    except KafkaError as refusal:
        raise Refused(f"{refusal.code.name}: {refusal.message or 'refused'}") from refusal


ACTIONS = (
    Action("/console/topics", _create),
    Action("/console/topics/{topic}/partitions", _add_partitions),
    Action("/console/topics/{topic}/settings", _set),
    Action("/console/topics/{topic}/delete", _delete),
)
