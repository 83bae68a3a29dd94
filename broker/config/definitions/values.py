"""Typed values of configuration keys: parsing, checking and printing, with the words of Kafka's errors.

A key's type decides how its text is parsed, a `Check` which values it may have. Both raise `InvalidValue`, whose text
is shown to the client, or to the operator who starts the broker. Independent of any particular key.
"""

import re
from enum import IntEnum
from typing import NamedTuple

Value = bool | int | float | str | list[str] | None


class ValueType(IntEnum):
    """The type of a key, with the number DescribeConfigs gives it."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class InvalidValue(ValueError):
    """A value that a key cannot have. str() is the sentence of Kafka's answer."""

    def __init__(self, name: str, value: object, why: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {why}")
        self.name = name


class EmptyWord(InvalidValue):
    """A list with an empty element; Kafka's sentence for it does not contain the value."""

    def __init__(self, name: str) -> None:
        ValueError.__init__(self, f"Configuration '{name}' values must not be empty.")
        self.name = name


class Range(NamedTuple):
    """Numbers from `low` to `high`, both included; `or_else` is one more allowed number (a mark for "default")."""

    low: float | None = None
    high: float | None = None
    or_else: int | None = None

    def __str__(self) -> str:
        if self.or_else is not None:
            return f"{self.low} to {self.high}, or {self.or_else}"
        if self.high is None:
            return f"at least {self.low}"
        return f"{self.low} to {self.high}"

    def complaint(self, value: Value) -> str | None:
        assert isinstance(value, int | float)
        if self.or_else is not None:
            inside = self.low is not None and self.high is not None and self.low <= value <= self.high
            return (
                None
                if inside or value == self.or_else
                else (f"Value must be between {self.low} and {self.high} or equal to {self.or_else}")
            )
        if self.low is not None and value < self.low:
            return f"Value must be at least {self.low}"
        if self.high is not None and value > self.high:
            return f"Value must be no more than {self.high}"
        return None


class OneOf(NamedTuple):
    """One of a few words; for a list, each element."""

    words: tuple[str, ...]
    ignore_case: bool = False

    def __str__(self) -> str:
        return ", ".join(self.words)

    def complaint(self, value: Value) -> str | None:
        word = value.upper() if self.ignore_case and isinstance(value, str) else value
        return None if word in self.words else f"String must be one of: {', '.join(self.words)}"


class ThrottledReplicas(NamedTuple):
    """`*` or a list of partition:broker pairs, for the topic configs of the replication throttles."""

    name: str

    def __str__(self) -> str:
        return "* or [partitionId]:[brokerId],…"

    def complaint(self, value: Value) -> str | None:
        assert isinstance(value, list)
        if value == ["*"] or all(re.fullmatch(r"([0-9]+:[0-9]+)?", pair) for pair in value):
            return None
        return (
            f"{self.name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )


_DURATION = re.compile(
    r"(?P<sign>[-+])?P(?=.)(?:(?P<d>[-+]?\d{1,19})D)?"
    r"(?:T(?=.)(?:(?P<h>[-+]?\d{1,19})H)?(?:(?P<m>[-+]?\d{1,19})M)?"
    r"(?:(?P<s>[-+]?\d{1,19})(?:[.,](?P<f>\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_UNITS_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_NANOS = 1_000_000_000
BY_DURATION = "by_duration:"


class OffsetReset(NamedTuple):
    """Where a share group begins: `earliest`, `latest`, or `by_duration:` with an ISO 8601 duration back from now."""

    def __str__(self) -> str:
        return "latest, earliest, by_duration:PnDTnHnMn.nS"

    def complaint(self, value: Value) -> str | None:
        assert isinstance(value, str)
        if value in ("earliest", "latest"):
            return None
        back_ns = duration_ns(value.removeprefix(BY_DURATION)) if value.startswith(BY_DURATION) else None
        if back_ns is not None and back_ns >= 0:
            return None
        return (
            f"Invalid value `{value}` for configuration share.auto.offset.reset. The value must be either 'earliest', "
            "'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )


def duration_ns(text: str) -> int | None:
    """Return the nanoseconds of an ISO 8601 duration as Java's Duration.parse reads it; None if Java refuses it."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    nanos = int((found["f"] or "").ljust(9, "0"))
    total_ns = -nanos if (found["s"] or "").startswith("-") else nanos
    total_ns += _NANOS * sum(int(found[unit] or 0) * seconds for unit, seconds in _UNITS_S.items())
    if abs(total_ns) >= _NANOS << 63:
        return None
    return -total_ns if found["sign"] == "-" else total_ns


Check = Range | OneOf | ThrottledReplicas | OffsetReset | None

_BITS = {ValueType.SHORT: 16, ValueType.INT: 32, ValueType.LONG: 64}
_DECIMAL = re.compile(r"([+-]?)0*([0-9]{1,19})")  # Python cannot convert numbers of thousands of digits
_FLOATING = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"\s*,\s*")


def parse(name: str, type: ValueType, text: str) -> Value:
    """Return the value of `text`. InvalidValue if it is not of the type."""
    text = text.strip()
    if type == ValueType.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise InvalidValue(name, text, "Expected value to be either true or false")
        return text.lower() == "true"
    if type in _BITS:
        bound = 1 << (_BITS[type] - 1)
        found = _DECIMAL.fullmatch(text)
        if found is None or not -bound <= (number := int(found[1] + found[2])) < bound:
            raise InvalidValue(name, text, f"Not a number of type {type.name}")
        return number
    if type == ValueType.DOUBLE:
        if _FLOATING.fullmatch(text) is None:
            raise InvalidValue(name, text, f"Not a number of type {type.name}")
        return float(text)
    if type == ValueType.LIST:
        return _COMMA.split(text) if text else []
    return text


def in_force(value: Value, rule: Check) -> Value:
    """Return the effective value: a list of known words without duplicates, as in Kafka's ValidList; others as is."""
    return list(dict.fromkeys(value)) if isinstance(value, list) and isinstance(rule, OneOf) else value


def check_words(name: str, words: list[str]) -> None:
    """Raise EmptyWord for a list with an empty element."""
    if "" in words:
        raise EmptyWord(name)


def check(name: str, value: Value, rule: Check) -> None:
    """Raise InvalidValue if `rule` does not allow the value. A missing value is always valid."""
    if rule is None or value is None:
        return
    if isinstance(value, list) and isinstance(rule, OneOf):
        for word in value:
            check(name, word, rule)
        return
    why = rule.complaint(value)
    if why is not None:
        shown = f"[{', '.join(value)}]" if isinstance(value, list) else value
        raise InvalidValue(name, shown, why)


def text_of(value: Value) -> str | None:
    """Return the value as DescribeConfigs prints it; None if it is not set."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float):
        return repr(value).replace("e+", "E").replace("e", "E")
    return str(value)
