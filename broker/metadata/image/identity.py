"""Who this node is to the catalogue: Kafka takes a node for a voter by both ids."""

from typing import NamedTuple


class Identity(NamedTuple):
    """This node: its id and the id of its data directory (16 bytes)."""

    node_id: int
    directory_id: bytes
