"""One scrape: every part is read, then written in Prometheus's text format, family by family.

It runs on the event loop, where the data cannot change meanwhile, in slices of a few milliseconds: other tasks run
between two of them. So a scrape is not of one instant, but each value in it is true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from barnabas.broker.http.metrics.broker import read_broker
from barnabas.broker.http.metrics.cleaner import read_cleaner
from barnabas.broker.http.metrics.clients import PUSHED_HELP, read_clients, read_pushed
from barnabas.broker.http.metrics.groups import read_groups
from barnabas.broker.http.metrics.metric import COUNTER, HISTOGRAM, Metric
from barnabas.broker.http.metrics.metric_table import METRICS
from barnabas.broker.http.metrics.partitions import read_partitions
from barnabas.broker.http.metrics.quotas import read_quotas
from barnabas.broker.http.metrics.registry import read_registry
from barnabas.broker.http.metrics.requests import read_requests
from barnabas.broker.http.metrics.share_groups import read_share_groups
from barnabas.broker.http.metrics.sources import Readings, Sources, Times
from barnabas.broker.http.metrics.transactions import read_transactions
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from prometheus_client import Metric as Family


_SCRAPE = WorkClass(steps_max=1)
_UNKNOWN = "unknown"


async def scrape(sources: Sources) -> bytes:
    """Return the metrics as text."""
    client: Any = await asyncio.get_running_loop().run_in_executor(None, import_module, "prometheus_client")
    text = sources.services.request_scheduler.in_slices(lambda: _written(client, sources), _SCRAPE)
    return await text if isinstance(text, asyncio.Future) else text


def _written(client: Any, sources: Sources) -> Steps[bytes]:
    readings = yield from read_all(sources)
    families = [_family(client, metric, readings) for metric in METRICS]
    families += _pythons_own(client)
    families += yield from _pushed(client, sources)
    text = []
    for family in families:
        text.append(client.generate_latest(_Registry([family])))
        yield
    return b"".join(text)


def read_all(sources: Sources) -> Steps[Readings]:
    """Return, in steps, the values of every metric that has any."""
    readings = Readings()
    yield from read_broker(sources, readings)
    read_requests(sources, readings)
    yield from read_partitions(sources, readings)
    yield from read_groups(sources, readings)
    yield from read_share_groups(sources, readings)
    yield from read_transactions(sources, readings)
    yield from read_quotas(sources, readings)
    read_clients(sources, readings)
    read_cleaner(sources, readings)
    read_registry(sources, readings)
    return readings


def _pushed(client: Any, sources: Sources) -> Steps[list[Family]]:
    """Return, in steps, the families pushed by clients, under names that no other metric has."""
    families: dict[str, Family] = {}
    for name, labels, value in (yield from read_pushed(sources)):
        kind = HISTOGRAM if isinstance(value, Times) else _UNKNOWN
        if name not in families:
            families[name] = client.Metric(name, PUSHED_HELP, kind)
        family = families[name]
        if family.type != kind:
            family.type = _UNKNOWN  # clients push different kinds under one name
        if isinstance(value, Times):
            _add_times(family, name, labels, value)
        else:
            family.add_sample(name, labels, value)
    return list(families.values())


class _Registry:
    """The part of a registry that the text output needs."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families


def _pythons_own(client: Any) -> Iterable[Family]:
    """Return the families of the process, the interpreter and its garbage collector."""
    registry = client.CollectorRegistry()
    for collector in (client.ProcessCollector, client.PlatformCollector, client.GCCollector):
        collector(registry=registry)
    return list(registry.collect())


def _family(client: Any, metric: Metric, readings: Readings) -> Family:
    name = metric.name.removesuffix("_total")
    family: Family = client.Metric(name, metric.help, metric.kind)
    for labels, value in readings.values.get(metric.name, ()):
        if metric.kind == HISTOGRAM:
            _add_times(family, name, labels, value)
        else:
            family.add_sample(f"{name}_total" if metric.kind == COUNTER else name, labels, value)
    return family


def _add_times(family: Family, name: str, labels: dict[str, str], value: Times) -> None:
    """Add a histogram's samples. Buckets are cumulative."""
    for bound, count in value.buckets:
        family.add_sample(f"{name}_bucket", labels | {"le": bound}, count)
    family.add_sample(f"{name}_count", labels, value.buckets[-1][1])
    if value.total is not None:
        family.add_sample(f"{name}_sum", labels, value.total)
