"""Make a `BrokerConfig` from the operator's input: flags over --set over environment over file.

Knows the order of precedence and the treatment of keys: unknown ones cause warnings, known ones are checked, and one
that requests protection that this broker does not offer prevents the start (`refused_keys.py`). Reads no file and no
environment; the caller does.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from barnabas.broker.config.broker_config import BrokerConfig, ConfigError, find_key, parse_value
from barnabas.broker.config.definitions.keys import KEYS, OF_AUTHORIZER, Key
from barnabas.broker.config.definitions.values import Check, InvalidValue, Range, ValueType, check
from barnabas.broker.config.environment import EnvironmentSettings
from barnabas.broker.config.listeners.connection_limits import OVERRIDES, parsed_overrides
from barnabas.broker.config.listeners.listener_keys import key_within
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.config.racks import RACK_AWARE_SELECTOR, racks
from barnabas.broker.config.refused_keys import asks_for
from barnabas.broker.config.resources.replicas import REPLICATION_FACTOR, effective_min_insync_replicas
from barnabas.broker.config.unknown_keys import warnings_of_unknown
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import properties as java_properties
from barnabas.protocol.files.properties import MISREAD, is_misread_utf8
from barnabas.protocol.records.compression import COMPRESSION_NAMES
from barnabas.protocol.security.listener_protocols import PLAINTEXT

_INTER_BROKER = "inter.broker.listener.name"
_DEFAULT_FACTOR = "default.replication.factor"
_METADATA_DIR = "metadata.log.dir"
_FOR_SEVERAL_NODES = (
    "offsets.topic.replication.factor",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.replication.factor",
)
_MIN_ISR = ("min.insync.replicas", "share.coordinator.state.topic.min.isr", "transaction.state.log.min.isr")
_OF_MOVING_LEADERS = ("auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds")
_INTER_BROKER_PROTOCOL = "security.inter.broker.protocol"


class LoadedConfig(NamedTuple):
    """The configuration, and warnings for the operator, a line each."""

    config: BrokerConfig
    warnings: list[str]


def _no_file(path: str) -> bytes:
    raise FileNotFoundError(path)


def load_config(
    *,
    flags: Mapping[str, str] | None = None,
    settings: Iterable[str] = (),
    environment: EnvironmentSettings | None = None,
    properties: bytes = b"",
    brokers: int = 1,
    read_file: Callable[[str], bytes] = _no_file,
) -> LoadedConfig:
    """Return the configuration to start with. ConfigError if it cannot be used, with the variable at fault, if any.

    flags: keys of the command line's own flags.          settings: the words after each --set, `key=value`.
    environment: the settings from the environment.       properties: the bytes of a server.properties file.
    brokers: the number of nodes.                         read_file: for a JAAS file, and for configuration providers.
    """
    around = environment or EnvironmentSettings({}, {})
    if around.conflict is not None:
        raise ConfigError(around.conflict)
    try:
        from_file = java_properties.decode(properties)
    except DecodeError as broken:
        raise ConfigError(str(broken)) from broken
    stronger = {**around.settings, **_settings(settings)}
    written = {**from_file, **stronger}
    moved = _moved(flags or {}, from_file, stronger)
    left_behind = _left_behind(flags or {}, written, _settings(settings))
    given: dict[str, str] = {}
    try:
        given = _resolved(written, around, read_file)
        static = {name: text for name, text in {**given, **(flags or {})}.items() if name not in (*moved, *left_behind)}
        unknown = [name for name in static if find_key(name) is None]
        warnings = [
            *around.warnings,
            *warnings_of_unknown(unknown, from_file, {*around.variables, *_settings(settings)}),
        ]
        warnings += _examine(static, brokers)
        config = _config(static, around)
        _check_together(config, flags or {})
        _check_racks(config, brokers)
        _check_not_opened(_config(given, around), flags or {})
        warnings += _take_java_options(config, around.java_options, read_file)
        if any(listener.speaks_sasl for listener in config.listeners):
            warnings += _check_sasl(config)
    except ConfigError as wrong:
        wrong = _without_secrets(wrong, written, given)
        variable = around.variables.get(wrong.key or "")
        if variable is None or stronger.get(wrong.key or "") != around.settings.get(wrong.key or ""):
            raise wrong from None
        because = f". {around.cut_off[variable]}" if variable in around.cut_off else ""
        raise ConfigError(f"{variable}: {wrong}{because}", wrong.key) from wrong
    misread = (name for name, text in sorted(from_file.items()) if is_misread_utf8(text) and find_key(name) is not None)
    warnings += [f"{name}: {MISREAD}" for name in misread]
    warnings += _idle_authorizer(config)
    warnings += _unmet_minimums(config, brokers) + _idle_selector(config, brokers) + _idle_balance(config, brokers)
    if moved:
        warnings.append(f"{' and '.join(moved)} not used: the command line replaces the listeners of the file")
    warnings += [f"{name} not used: --data-dir sets the data directory" for name in left_behind]
    return LoadedConfig(config, warnings)


def _resolved(
    written: Mapping[str, str], around: EnvironmentSettings, read_file: Callable[[str], bytes]
) -> dict[str, str]:
    """Return the settings with the variables in values resolved, if there are configuration providers. ConfigError."""
    if not written.get("config.providers", "").strip():
        return dict(written)
    from barnabas.protocol.files.config_providers import UnresolvedError, resolved

    try:
        return resolved(written, read_file, around.process)
    except UnresolvedError as wrong:
        raise ConfigError(str(wrong), wrong.key) from None


def _without_secrets(wrong: ConfigError, written: Mapping[str, str], given: Mapping[str, str]) -> ConfigError:
    """Return the same error, without a value from a provider: such a value may be a secret in the wrong place."""
    name = wrong.key or ""
    key = find_key(name)
    hides = key is not None and key.type is ValueType.PASSWORD  # its errors never contain the value
    if hides or given.get(name, "") == written.get(name, "") or name not in given:
        return wrong
    return ConfigError(f"{name}: the value of {written[name]} is not valid for this key", name)


def _config(static: Mapping[str, str], around: EnvironmentSettings) -> BrokerConfig:
    known = {name: text for name, text in static.items() if find_key(name) is not None}
    return BrokerConfig(known, cluster_id=around.cluster_id, is_container=around.is_container)


def _settings(settings: Iterable[str]) -> dict[str, str]:
    entries = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise ConfigError("--set: write a setting as key=value")
        entries[name.strip()] = value
    return entries


def _moved(flags: Mapping[str, str], from_file: Mapping[str, str], stronger: Mapping[str, str]) -> list[str]:
    """Return the keys of the file that describe its own listeners, not the one that --host and --port set instead."""
    if "listeners" not in flags or "listeners" not in from_file:
        return []
    return [name for name in ("advertised.listeners", _INTER_BROKER) if name in from_file and name not in stronger]


def _left_behind(flags: Mapping[str, str], written: Mapping[str, str], settings: Mapping[str, str]) -> list[str]:
    """Return metadata.log.dir if only a file or a variable sets it, and the command line moves the data."""
    if "log.dirs" not in flags:
        return []
    return [name for name in (_METADATA_DIR,) if written.get(name) and name not in settings]


def _examine(static: Mapping[str, str], brokers: int) -> list[str]:
    """Check each key by itself and return warnings. ConfigError for the first that is invalid or not enforced here."""
    idle: dict[str, list[str]] = {}
    for name, text in sorted(static.items()):
        key = find_key(name)
        unsupported = asks_for(name, text, key)
        if unsupported is not None:
            sentence = f"{name} requires {unsupported}, which this broker does not enforce: remove it to start"
            raise ConfigError(sentence, name)
        if key is not None and _changes_nothing(key, text) and not (brokers > 1 and name in _FOR_SEVERAL_NODES):
            from barnabas.broker.config.reference.descriptions import why_without_effect

            idle.setdefault(why_without_effect(name), []).append(name)
    return [f"no effect here: {', '.join(names)}. {why}" for why, names in idle.items()]


def _changes_nothing(key: Key, text: str) -> bool:
    """Return whether the key's value has an effect in Kafka but none here. ConfigError for an invalid one."""
    try:
        value = parse_value(key, text)
    except InvalidValue as wrong:
        raise ConfigError(str(wrong), key.name) from wrong
    return (
        (key_within(key.name) or key.name) not in KEYS
        and bool(text.strip())
        and (key.default is None or value != parse_value(key, key.default))
    )


def _unmet_minimums(config: BrokerConfig, brokers: int) -> list[str]:
    """Return a warning for each setting that requires more replicas than there are."""
    warnings = []
    for name in _MIN_ISR:
        configured = config.integer(name)
        effective = effective_min_insync_replicas(configured, brokers)
        if effective != configured:
            replicas = "1 replica" if brokers == REPLICATION_FACTOR else f"{brokers} replicas at most"
            warnings.append(f"{name} {configured} counts as {effective}: topics have {replicas} here")
    if (factor := config.integer(_DEFAULT_FACTOR)) > brokers:
        there_are = "is 1 broker" if brokers == 1 else f"are {brokers} brokers"
        warnings.append(f"{_DEFAULT_FACTOR} {factor}: there {there_are}, so a new topic must name its own factor")
    return warnings


def _idle_authorizer(config: BrokerConfig) -> list[str]:
    """Return a warning if settings of an authorizer are given, but no authorizer."""
    named = [key.name for key in OF_AUTHORIZER if key.name in config.static]
    if not named or config.string("authorizer.class.name").strip():
        return []
    return [f"no effect here: {', '.join(sorted(named))}. There is no authorizer: set authorizer.class.name."]


def _idle_selector(config: BrokerConfig, brokers: int) -> list[str]:
    """Return a warning if a class is set to choose the replicas that consumers read, and it has no effect."""
    selector = config.value("replica.selector.class")
    if not selector:
        return []
    if selector != RACK_AWARE_SELECTOR:
        return [f"no effect here: replica.selector.class. Only {RACK_AWARE_SELECTOR} is supported."]
    return ["no effect here: replica.selector.class. There is one replica."] if brokers == REPLICATION_FACTOR else []


def _idle_balance(config: BrokerConfig, brokers: int) -> list[str]:
    """Return a warning if the balancing of leaders is configured, and there is one node."""
    defaults = BrokerConfig({})
    changed = [name for name in _OF_MOVING_LEADERS if config.value(name) != defaults.value(name)]
    if brokers > 1 or not changed:
        return []
    return [f"no effect here: {', '.join(changed)}. One node leads every partition."]


def _check_racks(config: BrokerConfig, brokers: int) -> None:
    try:
        racks(config.text("broker.rack"), brokers)
    except ValueError as wrong:
        raise ConfigError(str(wrong), "broker.rack") from wrong


def _check_together(config: BrokerConfig, flags: Mapping[str, str]) -> None:
    directories = config.data_dirs
    if not directories:
        raise ConfigError("log.dirs names no directory", "log.dirs")
    if any("\0" in path for path in (*directories, config.metadata_dir)):
        raise ConfigError("log.dirs names a directory with a NUL character, which no file system permits", "log.dirs")
    if {"node.id", "broker.id"} <= config.static.keys() and config.integer("node.id") != config.integer("broker.id"):
        raise ConfigError("node.id and broker.id name two different nodes", "node.id")
    roles = config.strings("process.roles") if "process.roles" in config.static else ["broker"]
    if "broker" not in roles:
        raise ConfigError(
            "process.roles does not contain broker: this broker cannot run as a controller only", "process.roles"
        )
    for name in ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"):
        codec = config.integer(name)
        if codec not in COMPRESSION_NAMES:
            raise ConfigError(f"{name} {codec} is not a codec: use 0 to {max(COMPRESSION_NAMES)}")
    _check_internal_topics(config)
    _check_authorizer(config)
    _check_groups(config)
    _check_overrides(config)
    _check_listeners(config)
    if "listeners" not in flags:
        _check_inter_broker(config)


def _check_internal_topics(config: BrokerConfig) -> None:
    """Check the settings of the coordinators' topics against the limits of topics: else they could never be created."""
    for prefix in ("offsets.topic", "transaction.state.log"):
        partitions, segment = f"{prefix}.num.partitions", f"{prefix}.segment.bytes"
        if config.static.keys().isdisjoint((partitions, segment)):
            continue
        from barnabas.broker.config.resources.topic_configs import CREATED_PARTITIONS_MAX, TOPIC_KEYS  # rarely set

        ranges: dict[str, Check] = {
            partitions: Range(1, CREATED_PARTITIONS_MAX),
            segment: TOPIC_KEYS["segment.bytes"].check,
        }
        for key, allowed in ranges.items():
            try:
                check(key, config.integer(key), allowed)
            except InvalidValue as wrong:
                raise ConfigError(str(wrong), key) from wrong


def _check_authorizer(config: BrokerConfig) -> None:
    if "authorizer.class.name" in config.static and (authorizer := config.string("authorizer.class.name").strip()):
        from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER, super_users  # few brokers have one

        if authorizer != STANDARD_AUTHORIZER:
            sentence = f"authorizer.class.name is {authorizer}: only {STANDARD_AUTHORIZER} is supported"
            raise ConfigError(sentence, "authorizer.class.name")
        try:
            super_users(config.text("super.users"))
        except ValueError as wrong:
            raise ConfigError(str(wrong), "super.users") from wrong


def _check_groups(config: BrokerConfig) -> None:
    if any(name.startswith("group.") for name in config.static):
        from barnabas.broker.config.resources.group_configs import inconsistency  # rarely needed tables

        if found := inconsistency(config):
            key, sentence = found
            raise ConfigError(sentence, key)


def _check_overrides(config: BrokerConfig) -> None:
    try:
        parsed_overrides(config.text(OVERRIDES) or "")
    except ValueError as wrong:
        raise ConfigError(f"{OVERRIDES}: {wrong}", OVERRIDES) from wrong


def _check_listeners(config: BrokerConfig) -> None:
    listeners, advertised = _addresses(config)
    if not listeners:
        raise ConfigError("listeners has no listener for clients", "listeners")
    unknown = {listener.name for listener in advertised} - {listener.name for listener in listeners}
    if unknown:
        raise ConfigError(
            f"advertised.listeners names {', '.join(sorted(unknown))}, which listeners does not have",
            "advertised.listeners",
        )


def _check_inter_broker(config: BrokerConfig) -> None:
    """Check the name, although there is no other broker: Kafka refuses one that is no listener's, too."""
    if _INTER_BROKER not in config.static:
        return
    if _INTER_BROKER_PROTOCOL in config.static:
        raise ConfigError(f"{_INTER_BROKER} and {_INTER_BROKER_PROTOCOL} exclude each other", _INTER_BROKER)
    name = config.string(_INTER_BROKER)
    names = [listener.name for listener in config.listeners]
    if name.upper() not in names:
        raise ConfigError(f"{_INTER_BROKER} is {name}, but listeners are {', '.join(names)}", _INTER_BROKER)


def _take_java_options(config: BrokerConfig, options: str, read_file: Callable[[str], bytes]) -> tuple[str, ...]:
    """Read the JAAS file named by the options and return warnings. ConfigError for a security option without effect."""
    if not options:
        return ()
    from barnabas.broker.config.java_options import VARIABLE, java_options

    path, config.allowed_token_urls, properties, warnings = java_options(options)
    if path is None or not any(listener.speaks_sasl for listener in config.listeners):
        return warnings
    from barnabas.protocol.security.jaas import parse_file

    try:
        config.login_modules = parse_file(read_file(path).decode(), properties)
    except OSError as error:
        raise ConfigError(f"{VARIABLE}: {path} cannot be read: {error.strerror or error}", VARIABLE) from error
    except ValueError as wrong:
        sentence = "it is not UTF-8" if isinstance(wrong, UnicodeDecodeError) else wrong
        raise ConfigError(f"{VARIABLE}: {path} is not a JAAS file: {sentence}", VARIABLE) from None
    return warnings


def _check_sasl(config: BrokerConfig) -> list[str]:
    """Check that every SASL listener has all that it needs, and return warnings. ConfigError."""
    from barnabas.broker.config.sasl.sasl_settings import sasl_settings, warnings_of_sasl

    for listener in config.listeners:
        if listener.speaks_sasl:
            sasl_settings(config, listener.name)
    return warnings_of_sasl(config)


def _check_not_opened(written: BrokerConfig, flags: Mapping[str, str]) -> None:
    """Check that a flag does not replace a protected listener of the file by an unprotected one; it may move one."""
    secured = [each for each in _addresses(written)[0] if each.protocol != PLAINTEXT]
    if secured and "listeners" in flags:
        named = ", ".join(f"{each.name} ({each.protocol})" for each in secured)
        sentence = f"--host and --port make one {PLAINTEXT} listener, but listeners has {named}: change that instead"
        raise ConfigError(sentence, "listeners")


def _addresses(config: BrokerConfig) -> tuple[list[Listener], list[Listener]]:
    """Return (listeners, addresses in advertised.listeners). ConfigError."""
    try:
        return config.listeners, config.configured_advertised_listeners
    except ValueError as wrong:
        raise ConfigError(str(wrong), str(wrong).partition(":")[0]) from wrong
