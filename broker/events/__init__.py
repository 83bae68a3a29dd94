"""What happens in a broker, told by its parts to whoever listens: the trace, and faults at named steps."""

from barnabas.broker.events.events import Events, Listener
from barnabas.broker.events.kinds import KINDS, Kind

__all__ = ["KINDS", "Events", "Kind", "Listener"]
