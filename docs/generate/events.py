"""The kinds of events in docs/trace.md, and the steps in docs/faults.md at which a fault may act."""

from barnabas.broker.control.faults.plan.of_points import points
from barnabas.broker.runtime.events import KINDS, EventKind
from docs.generate.tables import replaced

_EVENTS = "| Event | What happened | Facts | Step |\n|---|---|---|---|\n"
_POINTS = "| point | `do` | what has happened | facts |\n|---|---|---|---|\n"


def page_of_trace(written: str) -> str:
    """Return the page with the table of all kinds of events."""
    return replaced(written, _EVENTS, (_event(kind) for kind in KINDS.values()))


def page_of_faults(written: str) -> str:
    """Return the page with the table of all steps."""
    return replaced(written, _POINTS, (_point(kind) for kind in points().values()))


def _event(kind: EventKind) -> str:
    return f"| `{kind.name}` | {kind.what} | {_facts(kind)} | {', '.join(kind.actions)} |"


def _point(kind: EventKind) -> str:
    return f"| `{kind.name}` | {' or '.join(kind.actions)} | {kind.what} | {_facts(kind)} |"


def _facts(kind: EventKind) -> str:
    return ", ".join(f"`{fact}`" for fact in kind.facts)
