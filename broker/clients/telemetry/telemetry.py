"""The broker's side of client telemetry: the known instances, the subscriptions in force, and the pushed metrics.

An instance is known while its connection lasts, and for three intervals after its last request, as in Apache Kafka.
No timer removes it: the next request of the instance, or the next scrape, detects that it is gone. No more than
INSTANCES_MAX are known; the longest silent one is removed for a new one.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.clients.telemetry.instances import Instance
from barnabas.broker.clients.telemetry.otlp import read_metrics
from barnabas.broker.clients.telemetry.series import SERIES_OF_CLIENT_MAX, PushedSeries, TelemetryClient
from barnabas.broker.config.resources.client_metrics import ClientMetricsSubscription, subscription
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.image.image import CLIENT_METRICS_RESOURCE, TopicImage
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.session.session import Session
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.records.compression import NONE, decompress_chunks
from barnabas.storage.steps import Steps

_log = logger("api")
INSTANCES_MAX = 16_384
RESERVED_IDS = frozenset((ZERO_UUID, (1).to_bytes(16, "big")))
_ADDED_A_STEP = 200
ATTRIBUTE_LENGTH_MAX = 256
"""Attributes of a client are cut to this number of characters, because they are stored longer than its connection."""


_UNKNOWN = ("unknown", "unknown")


class Origin(Protocol):
    """The connection of a request."""

    is_closed: bool
    peer: str
    session: Session


class Telemetry:
    """The client telemetry of one broker. Times are milliseconds that never go back."""

    def __init__(
        self,
        catalogue: Catalogue,
        bytes_max: int,
        random_bytes: Callable[[int], bytes],
        now_ms: Callable[[], float],
    ) -> None:
        """Create the telemetry. `bytes_max`: the maximum size of a push, also after decompression."""
        self.bytes_max = bytes_max
        self.series = PushedSeries()
        self._catalogue = catalogue
        self._random_bytes = random_bytes
        self._now_ms = now_ms
        self._instances: dict[bytes, tuple[Instance, Origin | None]] = {}  # the longest silent one first
        self._subscriptions: list[ClientMetricsSubscription] = []
        self._version = 0
        self._subscribe()
        catalogue.subscribe(_Follower(self._subscribe))

    def _subscribe(self) -> None:
        """Load the subscriptions that the catalogue has now."""
        self._version += 1
        self._subscriptions = []
        for name in self._catalogue.configured(CLIENT_METRICS_RESOURCE):
            try:
                found = subscription(self._catalogue.configs_of(CLIENT_METRICS_RESOURCE, name))
            except KafkaError as wrong:
                _log.warning(line("subscription to client metrics not used", name=name, reason=wrong.message))
            else:
                self._subscriptions.append(found)

    def __len__(self) -> int:
        """Return the number of known instances."""
        return len(self._instances)

    def new_instance_id(self) -> bytes:
        """Return an id that no instance has."""
        while (found := self._random_bytes(16)) in self._instances or found in RESERVED_IDS:
            pass
        return found

    def instance(self, instance_id: bytes, client_id: str | None, host: str, origin: Origin | None) -> Instance:
        """Return the instance of a request; it is known from now on."""
        self._forget_if_gone(instance_id)
        known, _ = self._instances.pop(instance_id, (None, None))
        if known is None or known.version < self._version:
            about = _attributes(instance_id, client_id, host, origin) if known is None else known.attributes
            known = Instance(instance_id, about, self._subscriptions, self._version)
        known.stay(self._now_ms())
        self._instances[instance_id] = known, origin
        if len(self._instances) > INSTANCES_MAX:
            self._forget(next(iter(self._instances)))
        return known

    def now_ms(self) -> float:
        return self._now_ms()

    def forget_gone(self) -> Steps[None]:
        """Remove the instances that are gone, and their metrics, in steps."""
        for number, instance_id in enumerate(list(self._instances), start=1):
            self._forget_if_gone(instance_id)
            if number % _ADDED_A_STEP == 0:
                yield

    def _forget_if_gone(self, instance_id: bytes) -> None:
        known = self._instances.get(instance_id)
        if known is not None:
            instance, origin = known
            if instance.expires_ms <= self._now_ms() or (origin is not None and origin.is_closed):
                self._forget(instance_id)

    def _forget(self, instance_id: bytes) -> None:
        instance, _ = self._instances.pop(instance_id)
        self.series.forget(_client(instance))

    def keep(self, instance: Instance, compression: int, data: bytes) -> Steps[None]:
        """Store an instance's pushed metrics, in steps. Raise DecodeError if invalid, or larger than `bytes_max`."""
        if compression != NONE:
            chunks = []
            for chunk in decompress_chunks(compression, data, self.bytes_max):
                chunks.append(chunk)
                yield
            data = b"".join(chunks)
        pushed = yield from read_metrics(data, SERIES_OF_CLIENT_MAX)
        client = _client(instance)
        for number, point in enumerate(pushed.points, start=1):
            if instance.instance_id not in self._instances:
                return  # removed while other work was done
            self.series.add(client, point)
            if number % _ADDED_A_STEP == 0:
                yield
        self.series.left_out += pushed.left_out


def _client(instance: Instance) -> TelemetryClient:
    return TelemetryClient(instance.attributes["client_instance_id"] or "", instance.attributes["client_id"] or "")


def _attributes(instance_id: bytes, client_id: str | None, host: str, origin: Origin | None) -> dict[str, str | None]:
    """Return the attributes of a client that subscriptions match."""
    name, version = _UNKNOWN if origin is None else origin.session.client_software
    return {
        "client_instance_id": _text_of(instance_id),
        "client_id": None if client_id is None else client_id[:ATTRIBUTE_LENGTH_MAX],
        "client_software_name": name[:ATTRIBUTE_LENGTH_MAX],
        "client_software_version": version[:ATTRIBUTE_LENGTH_MAX],
        "client_source_address": host,
        "client_source_port": None if origin is None else origin.peer.rpartition(":")[2],
    }


def _text_of(instance_id: bytes) -> str:
    """Return an instance's id as Kafka formats it."""
    return urlsafe_b64encode(instance_id).decode().rstrip("=")


class _Follower:
    """A catalogue listener that reloads the subscriptions when they change."""

    def __init__(self, subscribe: Callable[[], None]) -> None:
        self._subscribe = subscribe

    def on_topic_created(self, topic: TopicImage) -> None: ...

    def on_topic_deleted(self, topic: TopicImage) -> None: ...

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None: ...

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        if resource_type == CLIENT_METRICS_RESOURCE:
            self._subscribe()
