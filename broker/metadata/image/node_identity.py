"""The identity of this node in the catalogue: Kafka identifies a voter by both ids."""

from typing import NamedTuple


class NodeIdentity(NamedTuple):
    """The id of this node and the id of its data directory (16 bytes)."""

    node_id: int
    directory_id: bytes
