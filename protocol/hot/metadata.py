"""The partitions of a topic in a Metadata response, if one node has the only replica of each and leads it.

Such entries differ in two numbers only, so all are written at once, at a tenth of the cost. A client that asks for the
metadata of all topics may get ten thousand of them.
"""

from collections.abc import Sequence
from struct import Struct, pack
from typing import Final

from barnabas.protocol.codec.schema import EncodedArray
from barnabas.protocol.primitives import uvarint

SINCE: Final = 9
"""The first version of the layout: the flexible ones."""
_PARTITION: Final = Struct(">hiiiBiBiBB")
"""Error, index, leader, leader epoch; replicas, ISR and offline, each after its count + 1; an empty tag section."""
_INDEX_AT, _EPOCH_AT = 2, 10
_INT32_BYTES = 4


def partitions_of_one_node(node_id: int, leader_epochs: Sequence[int]) -> EncodedArray:
    """Return the partitions from 0 on, all on this node, by their leader epochs."""
    count, size = len(leader_epochs), _PARTITION.size
    entries = bytearray(_PARTITION.pack(0, 0, node_id, 0, 2, node_id, 2, node_id, 1, 0) * count)
    for position, numbers in ((_INDEX_AT, range(count)), (_EPOCH_AT, leader_epochs)):
        column = pack(f">{count}i", *numbers)
        for byte in range(_INT32_BYTES):
            entries[position + byte :: size] = column[byte::_INT32_BYTES]
    return EncodedArray(uvarint(count + 1) + entries)
