"""From what a person wrote to a `BrokerConfig`: flags over --set over environment over file.

Knows the order of precedence and what to do about a key: unknown ones warn, known ones are checked, and one that
asks for protection this broker does not give stops it (`refusals.py`). Reads no file and no environment; the caller
does.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from broker.config.broker_config import BrokerConfig, ConfigError, find_key, parse_value
from broker.config.keys import KEYS
from broker.config.listeners import PLAINTEXT
from broker.config.refusals import asks_for
from broker.config.values import InvalidValue
from protocol.errors import DecodeError
from protocol.files import properties as java_properties
from protocol.records.compression import COMPRESSION_NAMES


class LoadedConfig(NamedTuple):
    """The configuration, and what the person who starts the broker should be told, a line each."""

    config: BrokerConfig
    warnings: list[str]


def load_config(
    *,
    flags: Mapping[str, str] | None = None,
    settings: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
    properties: bytes = b"",
) -> LoadedConfig:
    """The configuration to start with. ConfigError when it cannot be used.

    flags: keys the command line's own flags stand for.   settings: the words after each --set, `key=value`.
    environment: keys read from the environment.          properties: the bytes of a server.properties file.
    """
    try:
        from_file = java_properties.decode(properties)
    except DecodeError as broken:
        raise ConfigError(str(broken)) from broken
    written = {**from_file, **(environment or {}), **_settings(settings)}
    static = {**written, **(flags or {})}
    warnings: list[str] = []
    for name in sorted(static):
        warnings += _examine(name, static[name])
    config = BrokerConfig({name: text for name, text in static.items() if find_key(name) is not None})
    _check_together(config)
    # A flag may move the listener of a file that asks for protection, but it does not take the wish back.
    _check_protocols(BrokerConfig({name: text for name, text in written.items() if find_key(name) is not None}))
    return LoadedConfig(config, warnings)


def _settings(settings: Iterable[str]) -> dict[str, str]:
    entries = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {setting}: a setting is written key=value")
        entries[name.strip()] = value
    return entries


def _examine(name: str, text: str) -> list[str]:
    """Warnings about one setting. ConfigError when it is wrong or asks for too much."""
    key = find_key(name)
    asked = asks_for(name, text, key)
    if asked is not None:
        raise ConfigError(f"{name} asks for {asked}, which this broker does not enforce: remove it to start")
    if key is None:
        return [f"unknown configuration key {name}: ignored"]
    try:
        value = parse_value(key, text)
    except InvalidValue as wrong:
        raise ConfigError(str(wrong)) from wrong
    if name not in KEYS and text.strip() and (key.default is None or value != parse_value(key, key.default)):
        return [f"configuration key {name} has no effect here"]
    return []


def _check_together(config: BrokerConfig) -> None:
    directories = config.strings("log.dirs") or config.strings("log.dir")
    if len(directories) != 1:
        raise ConfigError(f"log.dirs names {len(directories)} directories: this broker keeps exactly one")
    if {"node.id", "broker.id"} <= config.static.keys() and config.integer("node.id") != config.integer("broker.id"):
        raise ConfigError("node.id and broker.id name two different nodes")
    roles = config.strings("process.roles") if "process.roles" in config.static else ["broker"]
    if "broker" not in roles:
        raise ConfigError("process.roles does not name broker: this broker cannot be a controller alone")
    codec = config.integer("offsets.topic.compression.codec")
    if codec not in COMPRESSION_NAMES:
        raise ConfigError(f"offsets.topic.compression.codec {codec} is no codec: 0 to {max(COMPRESSION_NAMES)} are")
    try:
        listeners, told = config.listeners, config.told_listeners
    except ValueError as wrong:
        raise ConfigError(str(wrong)) from wrong
    if not listeners:
        raise ConfigError("listeners names no address for clients")
    unknown = {listener.name for listener in told} - {listener.name for listener in listeners}
    if unknown:
        raise ConfigError(f"advertised.listeners names {', '.join(sorted(unknown))}, which listeners does not")
    _check_protocols(config)


def _check_protocols(config: BrokerConfig) -> None:
    for listener in (*config.listeners, *config.told_listeners):
        if listener.protocol != PLAINTEXT:
            raise ConfigError(
                f"listener {listener.name} asks for {listener.protocol}, which this broker does not enforce: "
                f"only {PLAINTEXT} listeners are served"
            )
