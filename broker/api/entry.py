"""What an entry is: one version of one API, from the frame to the answer. The shape that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from barnabas.broker.api.answers import Answer
from barnabas.broker.cluster.cluster import Node
from barnabas.broker.session.session import Session


class Client(Protocol):
    """What an entry uses of a connection."""

    client_host: str
    client_id: str | None
    client_id_raw: bytes
    is_closed: bool
    peer: str
    session: Session

    @property
    def node(self) -> Node | None: ...


Entry = Callable[[memoryview, int, int, Client], Answer]
"""(frame, position of the body, correlation id, client) -> answer"""
