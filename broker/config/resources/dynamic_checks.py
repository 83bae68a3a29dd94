"""Consistency checks of settings made at run time: Apache Kafka 4.4.0's checks before it accepts a change.

Pure: compares the current configuration with the one after the change. The numbers of threads have no effect here, but
a script that sets one to a hundred at once gets the same answer as from Kafka. The sentences are Kafka's.
"""

from collections.abc import Mapping
from contextlib import suppress

from barnabas.broker.config.broker_config import BrokerConfig, is_dynamic
from barnabas.broker.config.definitions.values import InvalidValue
from barnabas.broker.config.listeners.connection_limits import OVERRIDES, parsed_overrides
from barnabas.broker.config.listeners.listener_keys import PREFIX, key_within
from barnabas.broker.config.resources.group_configs import inconsistency
from barnabas.broker.config.resources.topic_configs import effective
from barnabas.protocol.files.config_providers import PROVIDERS, names_of_providers, variable_in

_THREADS = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "log.cleaner.threads",
)
_OF_TIER = -2  # a local retention that equals the topic's retention
_NO_LIMIT = -1


def objection(config: BrokerConfig, per_broker: Mapping[str, str], cluster_wide: Mapping[str, str]) -> str | None:
    """Return why a broker may not have these settings in place of its dynamic ones, or None."""
    if variable := _new_variable(config, {**cluster_wide, **per_broker}):
        instead = "set the value itself, or the variable before the start"
        return f"{variable} is not resolved while the broker runs: {instead}"
    after = BrokerConfig(config.static)
    after.follow(_usable(per_broker), _usable(cluster_wide))
    if any(name.startswith("group.") for name in (*after.per_broker, *after.cluster_wide)):
        found = inconsistency(after)
        if found is not None:
            return found[1]
    own = _of_threads(config, after) or _of_retention(after) or _of_connections(after) or _of_sasl(config, after)
    return own or next(filter(None, (object_to(after) for object_to in config.objections)), None)


def _new_variable(config: BrokerConfig, settings: Mapping[str, str]) -> str | None:
    """Return a provider's variable in a new setting, or None: it would be taken for the value itself."""
    providers = names_of_providers(config.static) + names_of_providers(settings)
    if not providers:
        return None
    there = {**config.cluster_wide, **config.per_broker}  # values that another Kafka stored do not block others
    texts = (text for name, text in settings.items() if there.get(name) != text and not name.startswith(PROVIDERS))
    return next(filter(None, (variable_in(text, providers) for text in texts)), None)


def _usable(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that are in force: another Kafka may have stored unusable ones."""
    found = {}
    for name, text in settings.items():
        with suppress(InvalidValue):  # then the key counts as not set
            if is_dynamic(name, text):
                found[name] = text
    return found


def _of_threads(config: BrokerConfig, after: BrokerConfig) -> str | None:
    for name in _THREADS:
        old, new = config.integer(name), after.integer(name)
        wrong = f"Dynamic thread count update validation failed for {name}={new}"
        if new != old and new < max(old // 2, 1):
            return f"{wrong}, value should be at least half the current value {old}"
        if new > old * 2:
            return f"{wrong}, value should not be greater than double the current value {old}"
    return None


def _of_connections(after: BrokerConfig) -> str | None:
    try:
        parsed_overrides(after.text(OVERRIDES) or "")
    except ValueError as wrong:
        return f"{OVERRIDES}: {wrong}"
    return None


def _of_sasl(config: BrokerConfig, after: BrokerConfig) -> str | None:
    """Check that the SASL settings of an existing listener do not change; return the objection, or None."""
    for listener in config.listeners:
        if _sasl_of(listener.name, config) != _sasl_of(listener.name, after):
            return (
                f"Configs cannot be updated dynamically for existing listener {listener.name}, restart broker or "
                "create a new listener for update"
            )
    return None


def _sasl_of(listener: str, config: BrokerConfig) -> dict[str, str]:
    settings = {**config.static, **config.cluster_wide, **config.per_broker}
    prefix = f"{PREFIX}{listener.lower()}."
    return {
        name: text
        for name, text in settings.items()
        if name.startswith(prefix) and (key_within(name) or "").startswith(("sasl.", "connections.max.reauth."))
    }


def _of_retention(after: BrokerConfig) -> str | None:
    """Check that local retention and the remote tier's lag do not exceed retention; return the objection, or None."""
    for unit in ("ms", "bytes"):
        kept, local = _number(after, f"retention.{unit}"), after.integer(f"log.local.retention.{unit}")
        lag = after.integer(f"log.remote.copy.lag.{unit}")
        if kept > _NO_LIMIT and local != _OF_TIER:
            why = f"Value must not be more than log.retention.{unit} property value: {kept}"
            if local == _NO_LIMIT:
                why = f"Value must not be -1 as log.retention.{unit} value is set as {kept}."
            if local == _NO_LIMIT or local > kept:
                return str(InvalidValue(f"log.local.retention.{unit}", local, why))
        most = kept if local == _OF_TIER else local
        if 0 <= most < lag:
            why = f"Value must not exceed log.local.retention.{unit} (effective value: {most})"
            return str(InvalidValue(f"log.remote.copy.lag.{unit}", lag, why))
    return None


def _number(after: BrokerConfig, topic_key: str) -> int:
    value = effective({}, after, topic_key)
    assert isinstance(value, int)
    return value
