"""The driver's part of `spark.read`: from bounds to ranges of offsets."""

from __future__ import annotations

from barnabas.client.client import Client
from pyspark_barnabas.source import cluster
from pyspark_barnabas.source.errors import SourceError, lose
from pyspark_barnabas.source.offsets import Offsets
from pyspark_barnabas.source.options import SourceSettings
from pyspark_barnabas.source.ranges import OffsetRange, plan
from pyspark_barnabas.source.subscription import Bound, Given


def plan_batch(client: Client, settings: SourceSettings) -> list[OffsetRange]:
    """Return the tasks' ranges, one each. Raise SourceError or DataLoss with a sentence if that is not possible."""
    partitions = cluster.find_partitions(client, settings.subscription)
    cluster.require_all(client, settings.subscription, partitions)
    starts = cluster.find_offsets(client, settings.starting, partitions, isolation=settings.isolation, side="starting")
    ends = cluster.find_offsets(client, settings.ending, partitions, isolation=settings.isolation, side="ending")
    ranges = [OffsetRange(*where, starts[where], ends[where]) for where in sorted(partitions)]
    for each in ranges:
        if each.size < 0:
            raise SourceError(f"{each} cannot be read: the end is before the start")
    ranges = _within_what_is_there(client, settings, ranges)
    return plan(ranges, min_partitions=settings.min_partitions, max_records=settings.max_records_per_partition)


def _within_what_is_there(client: Client, settings: SourceSettings, ranges: list[OffsetRange]) -> list[OffsetRange]:
    """Return the ranges, checked if the user gave the offsets; cut to what exists if that is no reason to fail."""
    partitions = [each.where for each in ranges]
    firsts: Offsets = {}
    lasts: Offsets = {}
    if _is_explicit(settings.starting):
        firsts = cluster.earliest(client, partitions)
    if _is_explicit(settings.starting) or _is_explicit(settings.ending):
        lasts = cluster.latest(client, partitions, isolation=settings.isolation)
    losses: list[str] = []
    found: list[OffsetRange] = []
    for each in ranges:
        first, last = firsts.get(each.where, each.start), lasts.get(each.where, each.end)
        there = each._replace(start=min(max(each.start, first), last), end=min(max(each.end, first), last))
        if there != each:
            losses.append(f"{each} was to be read, but the log has only {first} to {last}")
        found.append(there)
    lose(losses, fail=settings.fail_on_data_loss)
    return found


def _is_explicit(bound: Bound) -> bool:
    return isinstance(bound, Given) and bound.offsets is not None
