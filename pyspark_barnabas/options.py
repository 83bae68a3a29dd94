"""Options with the names of Kafka and Spark, parsed once; errors are sentences.

Spark passes them with lower-cased names; here they are looked up in their usual spelling. An unknown option is refused
and never ignored: a prefix with a typo in its name would be a sink without its past.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.client.addresses import parse_addresses
from barnabas.client.near_names import nearest
from pyspark_barnabas import option_table
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.reporting.user_errors import UserError
from pyspark_barnabas.sink.settings import (
    BATCH_BYTES,
    DELIVERY_TIMEOUT_MS,
    REQUEST_BYTES,
    TWO_PHASE,
    SinkSettings,
)

if TYPE_CHECKING:
    from barnabas.client.security.settings import SecuritySettings

COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_KAFKA = "kafka."
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST_NAME = 249  # of a topic; the prefix is part of the ledger's name
_REQUIRED_VALUES = {
    "kafka.acks": (("all", "-1"), "a record that not every replica has could be lost"),
    "kafka.enable.idempotence": (("true",), "a record that is sent again could be written twice"),
}
_INSTEAD = {
    "kafka.transactional.id": "every task has its own: set transactionalIdPrefix",
    "kafka.key.serializer": "keys are strings or binary, and written as they are",
    "kafka.value.serializer": "values are strings or binary, and written as they are",
    "kafka.auto.offset.reset": "set startingOffsets",
    "kafka.enable.auto.commit": "Spark's checkpoint has the offsets that were read",
}


class OptionError(UserError, ValueError):
    """An option is missing, unknown, or has an invalid value; the message is a sentence for people."""


def check_names(options: Mapping[str, str]) -> None:
    """Raise OptionError for an unknown option, or one whose only possible value is another."""
    known = option_table.known()
    for name, value in options.items():
        key = name.lower()
        if key in _INSTEAD:
            raise OptionError(f"{key} cannot be set: {_INSTEAD[key]}")
        if key not in known:
            raise OptionError(_unknown(name, known))
        allowed, why = _REQUIRED_VALUES.get(key, ((value,), ""))
        if value.lower() not in {each.lower() for each in allowed}:
            raise OptionError(f"{known[key].name} is {value!r}, and must be {allowed[0]!r}: {why}")


def connection(options: Mapping[str, str]) -> ConnectionSettings:
    """Return how the cluster is reached."""
    servers = text(options, "kafka.bootstrap.servers")
    if servers is None:
        raise OptionError('no broker: set kafka.bootstrap.servers, as in "127.0.0.1:9092"')
    try:
        parse_addresses(servers)
    except ValueError as error:
        raise OptionError(f"kafka.bootstrap.servers: {error}") from error
    default = ConnectionSettings(servers)
    return ConnectionSettings(
        servers,
        client_id=text(options, "kafka.client.id") or default.client_id,
        request_timeout_ms=integer(options, "kafka.request.timeout.ms", default.request_timeout_ms, at_least=1),
        security=_security(options),
    )


def _security(options: Mapping[str, str]) -> SecuritySettings | None:
    """Return the security settings; None, with nothing imported, if connections are plain."""
    if (text(options, "kafka.security.protocol") or "PLAINTEXT").upper() == "PLAINTEXT":
        return None
    from barnabas.client.security.properties import is_security_key, security_of
    from barnabas.client.security.settings import SettingsError

    names = {name: name.lower().removeprefix(_KAFKA) for name in options if name.lower().startswith(_KAFKA)}
    try:
        return security_of({key: options[name] for name, key in names.items() if is_security_key(key)})
    except SettingsError as error:
        raise OptionError(f"of the options that begin with kafka.: {error}") from None


def sink(options: Mapping[str, str], *, default_prefix: str | None = None) -> SinkSettings:
    """Return the sink's settings. default_prefix: None for the query's id, which only the tasks know."""
    check_names(options)
    if text(options, "path") is not None:
        raise OptionError(
            "the sink writes to a topic, not to a path: call save() or start() without a path, and set the option topic"
        )
    creates_topics, new_topic_partitions = _creation(options)
    request_bytes = integer(options, "kafka.max.request.size", REQUEST_BYTES, at_least=1024)
    return SinkSettings(
        connection(options),
        topic=name(options, "topic"),
        prefix=name(options, "transactionalIdPrefix", longest=200) or default_prefix,
        transaction_timeout_ms=_timeout_ms(options),
        compression=one_of(options, "kafka.compression.type", COMPRESSIONS, "none"),
        batch_bytes=_batch_bytes(options, request_bytes),
        max_request_bytes=request_bytes,
        delivery_timeout_ms=integer(options, "kafka.delivery.timeout.ms", DELIVERY_TIMEOUT_MS, at_least=1),
        group_id=_group(options),
        is_atomic=boolean(options, "atomic", False),
        first_batch=integer(options, "firstBatch", 0, at_least=0),
        two_phase=one_of(options, "twoPhaseCommit", TWO_PHASE, TWO_PHASE[0]),
        batch_header=text(options, "batchHeader"),
        creates_topics=creates_topics,
        new_topic_partitions=new_topic_partitions,
        max_in_flight=integer(options, "kafka.max.in.flight.requests.per.connection", 5, at_least=1, at_most=5),
    )


def stream_sink(options: Mapping[str, str]) -> SinkSettings:
    """Return a stream's settings; raise OptionError for an option that only a batch write has."""
    if text(options, "idempotencyKey") is not None:
        raise OptionError("idempotencyKey is for `write`: a stream knows from its checkpoint what it wrote. Omit it")
    return sink(options)


def text(options: Mapping[str, str], option: str) -> str | None:
    """Return the value of an option, without the blanks around it; None if it was not given, or is empty."""
    return (_given(options, option) or "").strip() or None


def name(options: Mapping[str, str], option: str, *, longest: int = _LONGEST_NAME) -> str | None:
    """Return a name that can be part of a topic's name; None if it was not given."""
    value = text(options, option)
    if value is not None and (not _NAME.fullmatch(value) or len(value) > longest or value in (".", "..")):
        raise OptionError(f"{option} is {value!r}: a name has 1 to {longest} letters, digits, dots, dashes and _")
    return value


def integer(
    options: Mapping[str, str], option: str, default: int, *, at_least: int = 0, at_most: int = 2**63 - 1
) -> int:
    """Return a whole number within bounds."""
    value = text(options, option)
    if value is None:
        return default
    if not re.fullmatch(r"-?[0-9]{1,19}", value) or not at_least <= int(value) <= at_most:
        raise OptionError(f"{option} is {value!r}, and should be a whole number from {at_least} to {at_most}")
    return int(value)


def boolean(options: Mapping[str, str], option: str, default: bool) -> bool:
    """Return true or false, written in any case."""
    value = (text(options, option) or str(default)).lower()
    if value not in ("true", "false"):
        raise OptionError(f"{option} is {value!r}, and should be true or false")
    return value == "true"


def one_of(options: Mapping[str, str], option: str, allowed: Sequence[str], default: str) -> str:
    """Return one of some words, written in any case."""
    value = (text(options, option) or default).lower()
    if value not in allowed:
        raise OptionError(f"{option} is {value!r}, and should be one of {', '.join(allowed)}")
    return value


def json_object(options: Mapping[str, str], option: str) -> dict[str, Any] | None:
    """Return a JSON object; None if the option was not given."""
    value = text(options, option)
    if value is None:
        return None
    try:
        found = json.loads(value)
    except ValueError as error:
        raise OptionError(f"{option} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise OptionError(f'{option} should be a JSON object, as in {{"orders":{{"0":23}}}}, not {value!r}')
    return found


def _given(options: Mapping[str, str], option: str) -> str | None:
    return options.get(option.lower(), options.get(option))


def _timeout_ms(options: Mapping[str, str]) -> int | None:
    """Return the transaction timeout; None if it is not given: as long as the brokers allow."""
    name = "kafka.transaction.timeout.ms"
    return None if text(options, name) is None else integer(options, name, 0, at_least=1, at_most=2**31 - 1)


def _batch_bytes(options: Mapping[str, str], request_bytes: int) -> int:
    """Return the aim for a batch; 0 means a batch for each record, as in Kafka's producer, which 1 does, too."""
    return max(1, min(integer(options, "kafka.batch.size", BATCH_BYTES), request_bytes))


def _group(options: Mapping[str, str]) -> str | None:
    given = _given(options, "kafka.group.id")
    return None if given is None else given.strip()


def _creation(options: Mapping[str, str]) -> tuple[bool, int | None]:
    """Return whether topics may be created, and with how many partitions."""
    creates = boolean(options, "createTopics", True)
    partitions = integer(options, "newTopicPartitions", 0, at_least=1, at_most=2**31 - 1) or None
    if partitions and not creates:
        raise OptionError("newTopicPartitions is set, but createTopics is false: omit one of them")
    return creates, partitions


def _unknown(option: str, known: Mapping[str, option_table.Option]) -> str:
    """Return the error for an unknown option, with the nearest names; with those of its family if none is near."""
    near = nearest(option, known, 3)
    if near:
        return f"the option {option} is not known: did you mean {' or '.join(known[each].name for each in near)}?"
    is_kafkas = option.lower().startswith(_KAFKA)
    family = sorted(each.name for key, each in known.items() if key.startswith(_KAFKA) == is_kafkas)
    return f"the option {option} is not known. The options are: {', '.join(family)}"
