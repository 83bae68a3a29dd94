"""Refusals of a broker with a suggestion: the name that may be meant instead of one on the command line.

Brokers report in Kafka's words that a topic, a group or a key is missing. The existing names are requested for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator

from barnabas.client.client import Client
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import ErrorCode, KafkaError


def with_near_name(error: KafkaError, client: Client, options: argparse.Namespace) -> KafkaError:
    """Return the same refusal, with a question at its end if an existing name is similar."""
    if error.code not in _NAMES_OF:
        return error
    words, known = _NAMES_OF[error.code]
    try:
        there = set(known(client))
    except KafkaError:  # without the right to see them, for example
        return error
    for name in _given(options, words):
        meant = "" if name in there or name not in error.message else did_you_mean(name, sorted(there), " ")
        if meant:
            end = "" if error.message.endswith(".") else "."
            return KafkaError(error.code, f"{error.message}{end}{meant.replace('did', 'Did', 1)}")
    return error


def _given(options: argparse.Namespace, words: Iterable[str]) -> Iterator[str]:
    """Yield the names that were given: as texts, as partitions of a topic, as settings with their values."""
    for word in words:
        given = getattr(options, word, None)
        for each in given if isinstance(given, list) else [given]:
            if isinstance(each, str):
                yield each
            elif isinstance(each, tuple) and each and isinstance(each[0], str):
                yield each[0]


def _topics(client: Client) -> Iterable[str]:
    return client.refresh(None, client.deadline()).topics


def _groups(client: Client) -> Iterable[str]:
    from barnabas.client.admin.groups import list_groups

    return (each.group_id for each in list_groups(client))


def _transactional_ids(client: Client) -> Iterable[str]:
    from barnabas.client.admin.transactions import list_transactions

    return (each.transactional_id for each in list_transactions(client))


def _topic_configs(client: Client) -> Iterable[str]:
    from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS

    return TOPIC_KEYS


def _quotas(client: Client) -> Iterable[str]:
    from barnabas.broker.metadata.image.client_quotas import KEYS

    return KEYS


_SETTINGS = ("config", "set", "delete", "append", "subtract")
_NAMES_OF: dict[ErrorCode, tuple[tuple[str, ...], Callable[[Client], Iterable[str]]]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (("topic", "topics", "places", "partition"), _topics),
    ErrorCode.GROUP_ID_NOT_FOUND: (("group", "groups"), _groups),
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: (("id", "ids", "transactional_ids"), _transactional_ids),
    ErrorCode.INVALID_CONFIG: (_SETTINGS, _topic_configs),
    ErrorCode.INVALID_REQUEST: (_SETTINGS, _quotas),
}
