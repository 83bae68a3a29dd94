"""The settings of a broker, as given by a user and as passed to the broker. Knows shapes, no Kafka."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple, TypeAlias

Wire: TypeAlias = dict[str, object]
"""Settings in the plain values that `marshal` supports."""

_PLACES = {
    "listeners": "host and port",
    "port": "port",
    "log.dirs": "data_dir",
    "log.dir": "data_dir",
    "metadata.log.dir": "data_dir",
}
BROKERS_MAX = 16
LOG_LEVELS = ("debug", "info", "warning", "error")


class Topic(NamedTuple):
    """A topic present from the start. partitions: -1 is num.partitions; config: under Kafka's names."""

    partitions: int = -1
    config: Mapping[str, object] = {}


Topics: TypeAlias = Mapping[str, int | Topic] | Iterable[str]
"""Names with the number of their partitions or a Topic, or names alone."""

Grants: TypeAlias = Mapping[str, str | Iterable[str]]
"""Users with their permissions, each in the words of `barnabas acls add`: "--operation Read --topic orders"."""

SeedDocument: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""The file of a seed, or the values of such a document: {"topics": [{"name": "orders", "records": …}]}."""


class BrokerSettings(NamedTuple):
    """Checked settings. topics: name, partitions, config; config: broker keys; data_dir: None for a temporary one."""

    topics: tuple[tuple[str, int, dict[str, str]], ...]
    config: dict[str, str]
    features: dict[str, int]
    host: str
    port: int
    data_dir: str | None
    log_level: str
    brokers: int
    secure: bool
    users: dict[str, str]
    grants: dict[str, list[str]]
    seed_file: str | None
    seed_json: str | None
    registry: bool

    def __repr__(self) -> str:
        return "BrokerSettings(…)"  # there are passwords in it

    def wire(self) -> Wire:
        """Return the settings for the broker."""
        return {**self._asdict(), "ports": [], "registry_port": 0}


def checked(
    *,
    topics: Topics | None,
    config: Mapping[str, object] | None,
    features: Mapping[str, int] | None,
    host: str,
    port: int,
    data_dir: str | os.PathLike[str] | None,
    log_level: str,
    brokers: int = 1,
    secure: bool = False,
    users: Mapping[str, str] | None = None,
    grants: Grants | None = None,
    seed: SeedDocument | None = None,
    registry: bool = False,
) -> BrokerSettings:
    """Check the settings; raise ValueError or TypeError for an invalid one. The broker checks the rest."""
    for key, place in _PLACES.items():
        if key in (config or {}):
            raise ValueError(f"config: set {key} by {place}, not here")
    if not 0 <= port < 1 << 16:
        raise ValueError(f"port {port} is not between 0 and 65535")
    if data_dir is not None and "," in os.fspath(data_dir):
        raise ValueError(f"data_dir {os.fspath(data_dir)} has a comma in it, which separates directories in log.dirs")
    if log_level not in LOG_LEVELS:
        raise ValueError(f"log_level {log_level!r} is not one of {', '.join(LOG_LEVELS)}")
    if not (isinstance(brokers, int) and 1 <= brokers <= BROKERS_MAX):
        raise ValueError(f"brokers {brokers!r} is not a number from 1 to {BROKERS_MAX}")
    if (users or grants) and not secure:
        raise ValueError(f"{'users' if users else 'grants'}: only a broker with secure=True has users")
    return BrokerSettings(
        topics=tuple(_topics(topics or {})),
        config=texts(config or {}),
        features={name: int(level) for name, level in (features or {}).items()},
        host=host,
        port=port,
        data_dir=None if data_dir is None else os.path.abspath(os.fspath(data_dir)),
        log_level=log_level,
        brokers=brokers,
        secure=bool(secure),
        users=_users(users or {}),
        grants=_grants(grants or {}),
        seed_file=os.path.abspath(os.fspath(seed)) if isinstance(seed, str | os.PathLike) else None,
        seed_json=None if seed is None or isinstance(seed, str | os.PathLike) else _json(seed),
        registry=bool(registry),
    )


def _json(seed: Mapping[str, Any]) -> str:
    if not isinstance(seed, Mapping):
        raise TypeError(f"seed must be a file or a mapping, not {_type(seed)}")
    try:
        return json.dumps(seed, default=_date_text)
    except ValueError as wrong:
        raise ValueError(f"seed: {wrong}") from wrong


def _date_text(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"seed: {value!r} has no form in JSON: a value of bytes is given as value_base64")


def _topics(topics: Topics) -> Iterable[tuple[str, int, dict[str, str]]]:
    if isinstance(topics, str):
        raise TypeError(f"topics must be a mapping or a list of names, not the single name {topics!r}")
    wishes = topics.items() if isinstance(topics, Mapping) else ((name, -1) for name in topics)
    for name, wish in wishes:
        topic = wish if isinstance(wish, Topic) else Topic(wish)
        if not isinstance(topic.partitions, int) or (topic.partitions < 1 and topic.partitions != -1):
            raise ValueError(f"topics: {name}: {topic.partitions!r} is not a number of partitions")
        yield name, topic.partitions, texts(topic.config)


def _users(users: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(users, Mapping):  # the message does not quote it: there may be passwords in it
        raise TypeError(f'users must be a mapping of names to passwords, {{"alice": "wonderland"}}, not {_type(users)}')
    for user, password in users.items():
        if not isinstance(user, str) or not isinstance(password, str):
            raise TypeError(f"users: {user!r}: names and passwords must be strings")
    return dict(users)


def _grants(grants: Grants) -> dict[str, list[str]]:
    if not isinstance(grants, Mapping):
        example = '{"alice": ["--operation Read --topic orders"]}'
        raise TypeError(f"grants must be a mapping of users to their rights, {example}, not {_type(grants)}")
    return {user: list(_rights(user, rights)) for user, rights in grants.items()}


def _rights(user: str, rights: str | Iterable[str]) -> Iterable[str]:
    if not isinstance(user, str):
        raise TypeError(f"grants: {user!r} is not a user: names must be strings")
    if not isinstance(rights, Iterable):
        raise TypeError(
            f"grants: {user}: {rights!r} is not a list of rights such as ['--operation Read --topic orders']"
        )
    for right in [rights] if isinstance(rights, str) else rights:
        if not isinstance(right, str):
            raise TypeError(f"grants: {user}: {right!r} is not a string such as '--operation Read --topic orders'")
        yield right


def _type(value: object) -> str:
    return type(value).__name__


def texts(config: Mapping[str, object]) -> dict[str, str]:
    """Return values in the form of Kafka's configuration: true and false, lists with commas."""
    return {key: _text(value) for key, value in config.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return str(value)
