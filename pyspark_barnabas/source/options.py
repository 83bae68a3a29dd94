"""The settings of a source, from its options. Pure.

Names and meanings are those of Spark's stock Kafka source, so that a program changes its format and nothing else. The
differences: kafka.isolation.level is read_committed here unless it is set, and commitOffsets exists only here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED
from pyspark_barnabas import options as given
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.options import OptionError
from pyspark_barnabas.source.offsets import OffsetsError, parse_assignment, parse_offsets, parse_timestamps
from pyspark_barnabas.source.subscription import Assigned, Bound, ByTime, Given, Named, Subscription, TopicPattern

FETCH_BYTES = 4 << 20
POLL_TIMEOUT_MS = 120_000
MAX_TRIGGER_DELAY_MS = 15 * 60_000
_ISOLATION = {"read_committed": READ_COMMITTED, "read_uncommitted": READ_UNCOMMITTED}
_WORDS = {"earliest": EARLIEST, "latest": LATEST}
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_ONLY_STREAMS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "commitOffsets")
_LOG = logging.getLogger("pyspark_barnabas.source")
_ONLY_BATCHES = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """All settings of a source; picklable.

    min_partitions, max_records_per_partition, max_offsets, min_offsets: 0 for no limit. commit_group: "" for none.
    poll_timeout_ms: how long a task waits for records that should be there. latest_retries: how often the ends are
    requested again when one is lower than what was read, each time after retry_interval_ms.
    """

    connection: ConnectionSettings
    subscription: Subscription
    starting: Bound
    ending: Bound
    isolation: int = READ_COMMITTED
    with_headers: bool = False
    fail_on_data_loss: bool = True
    min_partitions: int = 0
    max_records_per_partition: int = 0
    max_offsets: int = 0
    min_offsets: int = 0
    max_trigger_delay_ms: int = MAX_TRIGGER_DELAY_MS
    commit_group: str = ""
    poll_timeout_ms: int = POLL_TIMEOUT_MS
    latest_retries: int = 3
    retry_interval_ms: int = 1000
    fetch_bytes: int = FETCH_BYTES


def batch_settings(options: Mapping[str, str]) -> SourceSettings:
    """Return the settings of `spark.read`: by default from the earliest to the latest offset. Raise OptionError."""
    for option in _ONLY_STREAMS:
        if given.text(options, option) is not None:
            _LOG.warning("%s is for streams, and has no effect: spark.read reads everything at once", option)
    return _settings(options, is_stream=False)


def stream_settings(options: Mapping[str, str]) -> SourceSettings:
    """Return the settings of `spark.readStream`: by default from the latest offset on. Raise OptionError if invalid."""
    for option in _ONLY_BATCHES:
        if given.text(options, option) is not None:
            raise OptionError(f"{option} is for spark.read: a stream has no end")
    return _settings(options, is_stream=True)


def includes_headers(options: Mapping[str, str]) -> bool:
    """Return whether there is a column `headers`."""
    return given.boolean(options, "includeHeaders", False)


def _settings(options: Mapping[str, str], *, is_stream: bool) -> SourceSettings:
    given.check_names(options)
    limits = {
        "min_partitions": given.integer(options, "minPartitions", 0, at_least=1),
        "max_records_per_partition": given.integer(options, "maxRecordsPerPartition", 0, at_least=1),
        "max_offsets": given.integer(options, "maxOffsetsPerTrigger", 0, at_least=1),
        "min_offsets": given.integer(options, "minOffsetsPerTrigger", 0, at_least=1),
    }
    if limits["min_offsets"] > limits["max_offsets"] > 0:
        raise OptionError("minOffsetsPerTrigger is above maxOffsetsPerTrigger: no batch could satisfy both")
    return SourceSettings(
        given.connection(options),
        _subscription(options),
        starting=_bound(options, "starting", "latest" if is_stream else "earliest", is_stream=is_stream),
        ending=_bound(options, "ending", "latest", is_stream=is_stream),
        isolation=_ISOLATION[given.one_of(options, "kafka.isolation.level", tuple(_ISOLATION), "read_committed")],
        with_headers=includes_headers(options),
        fail_on_data_loss=given.boolean(options, "failOnDataLoss", True),
        **limits,
        max_trigger_delay_ms=_duration_ms(options, "maxTriggerDelay", MAX_TRIGGER_DELAY_MS),
        commit_group=_commit_group(options),
        poll_timeout_ms=given.integer(options, "kafkaConsumer.pollTimeoutMs", POLL_TIMEOUT_MS, at_least=1),
        latest_retries=given.integer(options, "fetchOffset.numRetries", 3),
        retry_interval_ms=given.integer(options, "fetchOffset.retryIntervalMs", 1000),
        fetch_bytes=given.integer(
            options, "kafka.max.partition.fetch.bytes", FETCH_BYTES, at_least=1024, at_most=50 << 20
        ),
    )


def _subscription(options: Mapping[str, str]) -> Subscription:
    ways = [option for option in ("assign", "subscribe", "subscribePattern") if given.text(options, option)]
    if len(ways) != 1:
        subject = f"{' and '.join(ways)} are" if ways else "nothing is"
        raise OptionError(f"{subject} set: set exactly one of subscribe, subscribePattern and assign")
    value = given.text(options, ways[0]) or ""
    if ways[0] == "assign":
        return Assigned(_parsed("assign", parse_assignment, value))
    if ways[0] == "subscribe":
        topics = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
        if not topics:
            raise OptionError(f"subscribe is {value!r}, and should be topics, separated by commas")
        return Named(topics)
    try:
        re.compile(value)
    except re.error as error:
        raise OptionError(f"subscribePattern is {value!r}, which is not a regular expression: {error}") from error
    return TopicPattern(value)


def _bound(options: Mapping[str, str], side: str, default: str, *, is_stream: bool) -> Bound:
    """Return where reading starts or ends. A time for all precedes times by partition, and these precede offsets."""
    is_strict = side == "starting" and _strategy(options) == "error"
    if_none = None if is_strict else LATEST
    if given.text(options, f"{side}Timestamp") is not None:
        return ByTime(None, given.integer(options, f"{side}Timestamp", 0), if_none)
    by_timestamp = given.text(options, f"{side}OffsetsByTimestamp")
    if by_timestamp is not None:
        return ByTime(_parsed(f"{side}OffsetsByTimestamp", parse_timestamps, by_timestamp), 0, if_none)
    value = given.text(options, f"{side}Offsets") or default
    bound = _given_bound(f"{side}Offsets", value)
    senseless = LATEST if side == "starting" else EARLIEST
    if not is_stream and senseless in (bound.offsets.values() if bound.offsets else [bound.for_all]):
        raise OptionError(f"{side}Offsets is {value!r}: spark.read would find no record between start and end")
    return bound


def _given_bound(option: str, value: str) -> Given:
    if value.lower() in _WORDS:
        return Given(None, _WORDS[value.lower()])
    if not value.lstrip().startswith("{"):
        raise OptionError(
            f'{option} is {value!r}, and should be earliest, latest or JSON, as in {{"orders":{{"0":23}}}}'
        )
    return Given(_parsed(option, parse_offsets, value), LATEST)


def _strategy(options: Mapping[str, str]) -> str:
    return given.one_of(options, "startingOffsetsByTimestampStrategy", ("error", "latest"), "error")


def _commit_group(options: Mapping[str, str]) -> str:
    if not given.boolean(options, "commitOffsets", False):
        return ""
    group = given.text(options, "kafka.group.id")
    if group is None:
        raise OptionError("commitOffsets is set, but kafka.group.id is not: set it to the group for the offsets")
    return group


def _duration_ms(options: Mapping[str, str], option: str, default: int) -> int:
    value = given.text(options, option)
    if value is None:
        return default
    found = re.fullmatch(r"([0-9]{1,12})\s*(ms|s|m|min|h|d)", value.lower())
    if found is None:
        raise OptionError(f"{option} is {value!r}, and should be a time, as in 15m")
    return int(found[1]) * _UNITS_MS[found[2]]


def _parsed(option: str, parse: Any, value: str) -> Any:
    try:
        return parse(value)
    except OffsetsError as error:
        raise OptionError(f"{option}: {error}") from error
