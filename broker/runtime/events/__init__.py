"""Events in a broker, reported by its parts to listeners: the trace, and faults at named steps."""

from barnabas.broker.runtime.events.cause import Cause
from barnabas.broker.runtime.events.events import Events, Listener
from barnabas.broker.runtime.events.kind import EventKind
from barnabas.broker.runtime.events.kinds import KINDS

__all__ = ["KINDS", "Cause", "EventKind", "Events", "Listener"]
