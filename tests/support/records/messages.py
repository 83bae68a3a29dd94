"""All message classes there are, and messages full of made-up values.

`make` builds a message that `version` can carry, from a source of randomness: `random.Random(seed)`, or the one that
Hypothesis hands out, which then can shrink what it found.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from barnabas.protocol.codec.schema import Field, FieldType, Stored, Struct, default_instance
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records import (
    catalogue,
    consumer_protocol,
    control,
    group,
    share_group,
    share_state,
    streams_group,
    transaction,
)
from barnabas.protocol.registry import ApiKey, spec

M = TypeVar("M", bound=Struct)

INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
WORDS = ("", "a", "topic-1", "ключ", "\U0001f981", "x" * 127, "y" * 200)
# Fields that kio holds as something narrower than an integer: an enum, a date in whole seconds, a duration.
_DATES = (0, 1_700_000_000_000)
_DURATIONS = (-1, 0, 604_800_000)
_KIOS_LAST_ERROR = ErrorCode.SHARE_SESSION_LIMIT_REACHED
NARROW: dict[str, Sequence[int]] = {
    "error_code": [int(code) for code in ErrorCode if code <= _KIOS_LAST_ERROR],
    "log_append_time_ms": (-1, *_DATES),
    "issue_timestamp_ms": _DATES,
    "expiry_timestamp_ms": _DATES,
    "max_timestamp_ms": _DATES,
    "transaction_start_time_ms": _DATES,
    "expiry_time_period_ms": _DURATIONS,
    "max_lifetime_ms": _DURATIONS,
    "renew_period_ms": _DURATIONS,
    "retention_time_ms": _DURATIONS,
    "session_lifetime_ms": _DURATIONS,
}
FINITE = (0.0, -0.5, 1.0, 1e300)


def our_messages() -> list[type[Struct]]:
    """Every request and response class we have."""
    return [message for key in ApiKey for message in (spec(key).request, spec(key).response)]


def our_stored() -> list[type[Stored]]:
    """Every class of a log record we have."""
    return [
        *catalogue.RECORDS,
        *group.KEYS.values(),
        *group.VALUES.values(),
        *share_group.KEYS.values(),
        *share_group.VALUES.values(),
        *share_state.KEYS.values(),
        *share_state.VALUES.values(),
        *streams_group.STREAMS_GROUP_KEYS.values(),
        *streams_group.STREAMS_GROUP_VALUES.values(),
        *transaction.KEYS.values(),
        *transaction.VALUES.values(),
        *(getattr(control, name) for name in _CONTROL_RECORDS),
        consumer_protocol.ConsumerProtocolSubscription,
        consumer_protocol.ConsumerProtocolAssignment,
    ]


_CONTROL_RECORDS = (
    "LeaderChangeMessage",
    "SnapshotHeaderRecord",
    "SnapshotFooterRecord",
    "KRaftVersionRecord",
    "VotersRecord",
)


def make(struct: type[M], version: int, rng: Random) -> M:
    """A message of `struct`; fields that `version` lacks hold their defaults."""
    message = struct.__new__(struct)
    for field in struct.__schema__.fields:
        setattr(message, field.name, _made(field, version, rng))
    if struct.__schema__.keeps_unknown_tags:
        message.unknown_tags = ()  # type: ignore[attr-defined]  # because only a Stored keeps them
    return message


def _made(field: Field, version: int, rng: Random) -> Any:
    """A value of the field; now and then its default, or null."""
    chance = rng.random()
    if not field.in_version(version) or chance < 0.15:
        value = field.default_value()
        if value is not None or not field.in_version(version) or field.nullable_in(version) or field.may_be_unset:
            return value
    if field.nullable_in(version) and chance > 0.75:
        return None
    value = _value(field, field.type, version, rng)
    return None if field.may_be_unset and value == default_instance(type(value)) else value


def _value(field: Field, type: FieldType, version: int, rng: Random) -> Any:
    if type.element is not None:
        return [_value(field, type.element, version, rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    if type.struct is not None:
        return make(type.struct, version, rng)
    if type.name in INTEGER_BITS:
        return _integer(field.name, INTEGER_BITS[type.name], rng)
    match type.name:
        case "uint16":
            return rng.choice((0, 1, 0x7FFF, 0xFFFF))
        case "float64":
            return rng.choice(FINITE)
        case "bool":
            return rng.random() < 0.5
        case "uuid":
            return rng.randbytes(16)
        case "string":
            return rng.choice(WORDS)
        case _:
            return rng.randbytes(rng.choice((0, 1, 5, 126, 127, 300)))


def _integer(name: str, bits: int, rng: Random) -> int:
    for ending, values in NARROW.items():
        if name.endswith(ending):
            return rng.choice(values)
    limit = 1 << (bits - 1)
    return rng.choice((0, 1, -1, limit - 1, -limit, rng.randrange(-limit, limit)))
