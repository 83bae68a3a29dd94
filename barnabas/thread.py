"""A broker in a thread of this process: only on request, and only where its packages are ours.

The broker is imported under its own names, `broker`, `storage`, `protocol` and `client`. Where the user's project has
one of these the two would be taken for each other, so that is refused with a sentence before anything is imported.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from barnabas.errors import BarnabasError
from barnabas.settings import Wire

if TYPE_CHECKING:
    from barnabas.running import Running

_NAMES = ("broker", "client", "protocol", "storage")


def begin(settings: Wire, home: str | None) -> Running:
    """A broker in a new thread, once it can be used. BarnabasError."""
    check_names()
    from barnabas.inside.thread import BrokerThread

    return BrokerThread(settings, home)


def check_names() -> None:
    """BarnabasError where a name that the broker's packages are imported by means something else here."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in _NAMES:
        found = getattr(sys.modules.get(name), "__file__", None)
        if found is None:
            spec = find_spec(name)
            found = (spec.origin or repr(spec.submodule_search_locations)) if spec is not None else "nowhere"
        if os.path.dirname(os.path.dirname(os.path.abspath(found))) != root:
            raise BarnabasError(
                f"in_process needs the name {name!r} for the broker's own package, but here it is {found}: "
                "leave in_process out, and the broker runs in a process of its own"
            )
