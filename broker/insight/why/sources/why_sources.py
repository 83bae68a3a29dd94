"""All that a question is answered from, together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.why.sources.held_up import NOTHING_HELD_UP, HeldUp
from barnabas.broker.insight.why.sources.ring import NO_RING, Ring

if TYPE_CHECKING:
    from barnabas.broker.services import Services


class WhySources(NamedTuple):
    """services: of all nodes."""

    services: Services
    ring: Ring = NO_RING
    """What happened so far, where that is kept."""
    held_up: HeldUp = NOTHING_HELD_UP
    """What faults hold up, where there are any."""
