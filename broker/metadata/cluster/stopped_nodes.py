"""The stopped ones of several nodes, as a broker setting: `barnabas.nodes.stopped`, with `serve --brokers`.

It takes effect at once and is not stored as a setting: the nodes themselves store which of them are stopped. It is a
list, so that a stopped node can be started again: admin clients send a broker's settings to that broker, and this one
is accepted by any. No admin client would know an API that only Barnabas has.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.metadata.catalogue.config_alterations import (
    Alteration,
    AlterConfigOp,
    broker_number,
    check_alterations,
)
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.metadata.cluster.topology import ClusterTopology

STOPPED_NODES = "barnabas.nodes.stopped"


def alter_stopped_nodes(
    alterations: Sequence[Alteration], nodes: ClusterTopology | None, *, validate_only: bool
) -> Future[None] | None:
    """Stop exactly the nodes of this list; APPEND stops more nodes, SUBTRACT starts some. Raises KafkaError."""
    check_alterations(alterations)
    if nodes is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "One node cannot be stopped: start several by serve --brokers N.")
    if len(alterations) > 1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Alter {STOPPED_NODES} without other keys.")
    ((_, operation, value),) = alterations
    named = set() if operation == AlterConfigOp.DELETE or not value else _node_ids(value)
    for node in sorted(named):
        nodes.check(node)
    if validate_only:
        return None
    if operation == AlterConfigOp.APPEND:
        return nodes.have_stopped(named.union)
    if operation == AlterConfigOp.SUBTRACT:
        return nodes.have_stopped(lambda stopped: set(stopped) - named)
    return nodes.have_stopped(lambda stopped: named)


def _node_ids(value: str) -> set[int]:
    try:
        return {broker_number(word.strip(), "A node id") for word in value.split(",")}
    except KafkaError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{STOPPED_NODES} is a list of node ids. {error.message}") from None
