"""The settings of one SASL listener: mechanisms, users of PLAIN, and limits. ConfigError for impossible ones.

Login modules are found by Apache Kafka's rule: in `listener.name.NAME.MECHANISM.sasl.jaas.config`, else in the
section `NAME.KafkaServer` of the JAAS file, with NAME in small letters, else in its section `KafkaServer`. Of their
options only the users of PLAIN have an effect: there is no other broker to log in to. So SCRAM, unlike in Kafka, needs
no login module.

Imported only if a listener uses SASL. No sentence here contains the value of an option.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.config.broker_config import BrokerConfig, ConfigError
from barnabas.broker.config.sasl.listener_settings import ListenerSettings
from barnabas.broker.config.sasl.oauthbearer_settings import HANDLER, SignedTokens, signed_tokens, warning_of_url
from barnabas.broker.security.sasl import oauthbearer, plain
from barnabas.broker.security.sasl.unsecured_tokens import UnsecuredRules, rules_in
from barnabas.protocol.security.jaas import LoginModule, parse_modules
from barnabas.protocol.security.scram import MECHANISMS as SCRAM_MECHANISMS

_ENABLED = "sasl.enabled.mechanisms"
_JAAS = "sasl.jaas.config"
_DELAY = "connection.failed.authentication.delay.ms"
_REAUTH = "connections.max.reauth.ms"
_MODULES = {
    plain.NAME: "org.apache.kafka.common.security.plain.PlainLoginModule",
    **{each.name: "org.apache.kafka.common.security.scram.ScramLoginModule" for each in SCRAM_MECHANISMS},
    oauthbearer.NAME: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}


class ListenerSaslSettings(NamedTuple):
    """The SASL settings of one listener."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str]
    """Passwords by user."""
    frame_bytes_max: int
    failure_delay_ms: int
    reauth_ms: Mapping[str, int]
    """By mechanism; 0 for never."""
    unsecured_tokens: UnsecuredRules
    """The requirements for an unsigned OAUTHBEARER token."""
    signed_tokens: SignedTokens | None
    """The requirements for a signed token; None if tokens are unsigned."""

    def __repr__(self) -> str:
        return f"ListenerSaslSettings({', '.join(self.mechanisms)})"  # passwords must not be printed


def sasl_settings(config: BrokerConfig, listener: str) -> ListenerSaslSettings:
    """Return the settings of the listener with this name. ConfigError."""
    settings = ListenerSettings(config, listener)
    mechanisms = tuple(settings.strings(_ENABLED))
    _check_mechanisms(mechanisms, settings)
    modules = {mechanism: _login_modules(mechanism, settings, config) for mechanism in mechanisms}
    delay_ms, idle_ms = config.integer(_DELAY), config.integer("connections.max.idle.ms")
    if 0 < idle_ms <= delay_ms:
        must = f"must be less than connections.max.idle.ms {idle_ms}, or clients would not get the error"
        sentence = f"{_DELAY} {delay_ms} {must}"
        raise ConfigError(sentence, _DELAY)
    return ListenerSaslSettings(
        mechanisms,
        plain.users_in({name: text for module in modules.get(plain.NAME, ()) for name, text in module.options.items()}),
        settings.integer("sasl.server.max.receive.size"),
        delay_ms,
        {each: _reauth_ms(each, settings) for each in mechanisms},
        _unsecured_rules(modules.get(oauthbearer.NAME, ()), settings),
        _signed_tokens(modules.get(oauthbearer.NAME), settings, config),
    )


def _unsecured_rules(modules: Sequence[LoginModule], settings: ListenerSettings) -> UnsecuredRules:
    try:
        return rules_in(modules[0].options if modules else {})
    except ValueError as wrong:
        raise ConfigError(f"listener {settings.listener}: {wrong}", _JAAS) from None


def _signed_tokens(
    modules: Sequence[LoginModule] | None, settings: ListenerSettings, config: BrokerConfig
) -> SignedTokens | None:
    if modules is None:
        return None
    return signed_tokens(settings, config, modules[0].options if modules else {})


def _check_mechanisms(mechanisms: Sequence[str], settings: ListenerSettings) -> None:
    known = f"some of {', '.join(_MODULES)}"
    key = settings.name(_ENABLED) if settings.is_set(_ENABLED) else "listeners"
    if not mechanisms:
        raise ConfigError(f"listener {settings.listener} has no SASL mechanism: set {_ENABLED} to {known}", _ENABLED)
    for mechanism in mechanisms:
        if mechanism == "GSSAPI":
            raise ConfigError(
                f"listener {settings.listener} requires GSSAPI (Kerberos), which this broker does not support: set "
                f"{_ENABLED} to {known}",
                key,
            )
        if mechanism not in _MODULES:
            raise ConfigError(
                f"{settings.name(_ENABLED)} names {mechanism}, which this broker does not support: set it to {known}",
                settings.name(_ENABLED),
            )
        if mechanism != oauthbearer.NAME and settings.of_mechanism(mechanism, HANDLER):
            name = f"listener.name.{settings.listener.lower()}.{mechanism.lower()}.{HANDLER}"
            raise ConfigError(f"{name} names a class that this broker cannot load", name)


def _login_modules(mechanism: str, settings: ListenerSettings, config: BrokerConfig) -> Sequence[LoginModule]:
    """Return the login modules of the mechanism; at least one for PLAIN, since they contain its users."""
    name = f"listener.name.{settings.listener.lower()}.{mechanism.lower()}.{_JAAS}"
    text = settings.of_mechanism(mechanism, _JAAS)
    if text:
        assert isinstance(text, str)
        where, modules = name, _one_module(name, text)
    else:
        sections = [f"{settings.listener.lower()}.KafkaServer", "KafkaServer"]
        where = next((each for each in sections if each in config.login_modules), "")
        modules = list(config.login_modules.get(where, ()))
    fitting = [module for module in modules if module.name == _MODULES[mechanism]]
    if fitting or (not modules and mechanism != plain.NAME):
        return fitting
    if not modules:
        sentence = f"listener {settings.listener} offers {mechanism} but has no users"
        raise ConfigError(f"{sentence}: set {name}, or name a JAAS file in KAFKA_OPTS", name)
    if mechanism == plain.NAME or text:
        raise ConfigError(f"{where} has no {_MODULES[mechanism]}: other login modules cannot be loaded", name)
    return fitting


def _one_module(name: str, text: str) -> list[LoginModule]:
    try:
        modules = parse_modules(text)
    except ValueError as wrong:
        raise ConfigError(f"{name}: {wrong}", name) from None  # the error may be beside a secret
    if len(modules) != 1:
        raise ConfigError(f"{name} has {len(modules)} login modules, and should have 1", name)
    return modules


def _reauth_ms(mechanism: str, settings: ListenerSettings) -> int:
    own = settings.of_mechanism(mechanism, _REAUTH)
    return max(0, own if isinstance(own, int) else settings.integer(_REAUTH))


def warnings_of_sasl(config: BrokerConfig) -> list[str]:
    """Return warnings: settings that Kafka ignores with a warning, too, and unsafe settings."""
    warnings = []
    if config.is_set(_JAAS):
        warnings.append(f"{_JAAS} is ignored, as in Kafka: its name begins with listener.name.NAME.MECHANISM.")
    for listener in config.listeners:
        settings = sasl_settings(config, listener.name) if listener.speaks_sasl else None
        if settings is None or oauthbearer.NAME not in settings.mechanisms:
            continue
        if (signed := settings.signed_tokens) is not None:
            warnings += warning_of_url(signed.keys_url, config)
        else:
            warnings.append(
                f"NOT SECURE: listener {listener.name} accepts unsigned OAUTHBEARER tokens, so a client "
                "can authenticate as any user. Use it only for tests"
            )
    return warnings
