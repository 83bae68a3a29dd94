"""All sources of answers together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.why.sources.held_requests_source import NOTHING_HELD_UP, HeldUpSource
from barnabas.broker.insight.why.sources.history_source import NO_RING, HistorySource
from barnabas.broker.insight.why.sources.registry_source import RegistrySource, no_registry

if TYPE_CHECKING:
    from barnabas.broker.services import Services


class WhySources(NamedTuple):
    """The sources of answers. services: of all nodes."""

    services: Services
    ring: HistorySource = NO_RING
    """The history, if it is stored."""
    held_up: HeldUpSource = NOTHING_HELD_UP
    """The requests and steps held up by faults, if there are faults."""
    registry: RegistrySource = no_registry
    """Returns the schema registry, if it is served."""
