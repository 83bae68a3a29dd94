"""Reports of names that are no keys: the name of a mistaken setting, but never text that may be a value.

A value whose line breaks were not escaped ends at the first of them, and Java's properties take each further line, of
a private key or a password, for a setting. So a name from a file is reported only if it looks like one and has a
value; the other lines are counted, after the setting that they follow.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping

from barnabas.broker.config.definitions.keys import KEYS
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS

UNKNOWN_KEY = "unknown configuration key "
_NAME = re.compile(r"[a-z][a-z0-9]{,40}(?:[._-][a-z0-9]{1,40})+")
_OLD_QUOTAS = {"quota.producer.default": "producer_byte_rate", "quota.consumer.default": "consumer_byte_rate"}


def warnings_of_unknown(names: Iterable[str], file: Mapping[str, str], given: Container[str]) -> list[str]:
    """Return a line for each unknown name in `names` that was meant as a key, and for each setting with stray lines.

    file: the settings of the files, in their order.   given: the names given one by one, by options and variables.
    """
    unknown = sorted(names)
    reported = [name for name in unknown if name in given or is_name(name, file.get(name, ""))]
    lines = set(unknown) - set(reported)
    counts: dict[str, int] = {}
    behind = ""
    for name in file:
        if name in lines:
            counts[behind] = counts.get(behind, 0) + 1
        else:
            behind = name
    warnings = [f"{UNKNOWN_KEY}{name}: ignored{_in_its_place(name)}" for name in reported]
    return warnings + [_followed(name, count) for name, count in counts.items()]


def near_key(name: str) -> str:
    """Return `: did you mean log.dirs?` if the name resembles a key of brokers, else an empty text."""
    from barnabas.broker.config.definitions.ignored_keys import ACCEPTED
    from barnabas.client.near_names import did_you_mean

    return did_you_mean(name, (*KEYS, *ACCEPTED))


def is_name(name: str, value: str) -> bool:
    """Return whether a name from a file looks like a name, and not like a line of a value."""
    return bool(value.strip("=")) and _NAME.fullmatch(name) is not None


def counted_lines(count: int) -> str:
    """Return the count of lines that are not settings, in words."""
    return "1 line that is not a setting" if count == 1 else f"{count} lines that are not settings"


def _followed(name: str, count: int) -> str:
    where = f"{name} is followed by" if name else "a file begins with"
    escape = "end a line with \\ to continue its value, or with \\n\\ to preserve the line break"
    return f"{where} {counted_lines(count)}, ignored: {escape}"


def _in_its_place(name: str) -> str:
    """Return the end of a sentence: where a topic's key belongs, or what Kafka has in place of a removed one."""
    if name in _OLD_QUOTAS:
        return f", as in Kafka since 3.0: `barnabas quotas alter --client-defaults --set {_OLD_QUOTAS[name]}=N` sets it"
    key = TOPIC_KEYS.get(name)
    if key is None:
        return near_key(name)
    return "; topics have it" + ("" if key.inherits is None else f", for brokers it is {key.inherits}")
