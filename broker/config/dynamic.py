"""Broker settings made while running: what of them can be used."""

from collections.abc import Mapping

from barnabas.broker.config.broker_config import find_key, parse_value
from barnabas.broker.config.keys import Update
from barnabas.broker.config.values import InvalidValue
from barnabas.broker.log_lines import line, logger

_log = logger("config")


def usable(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings whose keys may change while running and whose values are right.

    Another Kafka may have stored others; they are passed over with a line in the log, and stay stored.
    """
    found = {}
    for name, text in settings.items():
        key = find_key(name)
        if key is None or key.update is Update.READ_ONLY:
            continue
        try:
            parse_value(key, text)
        except InvalidValue as wrong:
            _log.warning(line("stored setting not used", reason=wrong))
            continue
        found[name] = text
    return found
