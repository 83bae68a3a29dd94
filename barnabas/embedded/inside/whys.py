"""Explanations of what hangs, in plain values. The modules for them are imported on the first use."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.server.broker import Broker


async def _requested(broker: Broker, name: str, *about: Any) -> Any:
    from barnabas.broker.insight.why.sources.armed_faults import ArmedFaults
    from barnabas.broker.insight.why.sources.trace_history import TraceHistory
    from barnabas.broker.insight.why.why import Why

    ring, held_up = TraceHistory(broker.history.get()), ArmedFaults(broker.faults)
    found = getattr(Why(broker.services, ring, held_up, lambda: broker.registry), name)(*about)
    return await found if isawaitable(found) else found


async def why_consumer(broker: Broker, group: str, topic: str | None) -> dict[str, Any]:
    """Explain a consumer's wait, with Why.consumer."""
    answer: dict[str, Any] = (await _requested(broker, "consumer", group, topic)).as_json()
    return answer


async def why_producer(broker: Broker, transactional_id: str) -> dict[str, Any]:
    """Explain a producer's refusal, with Why.producer."""
    answer: dict[str, Any] = (await _requested(broker, "producer", transactional_id)).as_json()
    return answer


async def why_record(broker: Broker, topic: str, partition: int, offset: int) -> dict[str, Any]:
    """Explain a record, with Why.record. Raises KafkaError for a negative partition or offset."""
    if partition < 0 or offset < 0:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{topic}:{partition}:{offset}: partitions and offsets begin with 0"
        )
    answer: dict[str, Any] = (await _requested(broker, "record", topic, partition, offset)).as_json()
    return answer


async def why_group(broker: Broker, group: str) -> dict[str, Any]:
    """Explain a group's rebalance, with Why.group."""
    answer: dict[str, Any] = (await _requested(broker, "group", group)).as_json()
    return answer


async def why_hanging(broker: Broker) -> dict[str, Any]:
    """Explain all that hangs, with Why.hanging, however young: what a test left open did not end by itself."""
    return {about: answer.as_json() for about, answer in (await _requested(broker, "hanging", 0)).items()}


WHYS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {each.__name__: each for each in (why_consumer, why_producer, why_record, why_group, why_hanging)}
)
