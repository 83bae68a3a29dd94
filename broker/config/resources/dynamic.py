"""Broker settings made while running: what of them can be used."""

from collections.abc import Mapping

from barnabas.broker.config.broker_config import is_dynamic
from barnabas.broker.config.definitions.values import InvalidValue
from barnabas.broker.runtime.log_lines import line, logger

_log = logger("config")


def usable(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings whose keys may change while running and whose values are right.

    Another Kafka may have stored others; they are passed over with a line in the log, and stay stored.
    """
    found = {}
    for name, text in settings.items():
        try:
            if is_dynamic(name, text):
                found[name] = text
        except InvalidValue as wrong:
            _log.warning(line("stored setting not used", reason=wrong))
    return found
