"""What is typed in the recorded session, and what has to appear before the next command is typed."""

from typing import NamedTuple


class Typed(NamedTuple):
    """One command. `until`: a regular expression its output has to match; without one, the command has to end."""

    command: str
    until: str = ""


SESSION = (
    Typed("barnabas serve &", until=r"barnabas ready .*\n"),
    Typed("seq 1000000 | barnabas produce numbers --json"),
    Typed("kill -9 %1", until=r"Killed.*\n"),
    Typed("barnabas serve &", until=r"barnabas ready .*\n"),
    Typed("barnabas consume numbers --from-beginning --exit-at-end | sha256sum"),
    Typed("seq 1000000 | sha256sum"),
)
CLOSING = "kill %1; wait"
"""Typed at the end, and not shown."""
