"""Broker settings made at run time: the usable ones."""

from collections.abc import Mapping

from barnabas.broker.config.broker_config import is_dynamic
from barnabas.broker.config.definitions.values import InvalidValue
from barnabas.broker.runtime.log_lines import line, logger

_log = logger("config")


def usable(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings whose keys may change at run time and whose values are valid.

    Another Kafka may have stored others; they are skipped with a line in the log, and stay stored.
    """
    found = {}
    for name, text in settings.items():
        try:
            if is_dynamic(name, text):
                found[name] = text
        except InvalidValue as wrong:
            _log.warning(line("stored setting not used", reason=wrong))
    return found
