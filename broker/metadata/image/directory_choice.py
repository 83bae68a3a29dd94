"""Chooses the data directory of a new partition: the one with the fewest partitions, as in Apache Kafka.

Pure except for its reservations: partitions whose records are not in the image yet are counted, too. Knows directories
only by their ids, and counts partitions only.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from barnabas.broker.metadata.image.image import Image
from barnabas.protocol.errors import ErrorCode, KafkaError


class DirectoryChoice:
    """The partition counts of one catalogue. `usable`: the ids of the directories that can be used now, in order."""

    def __init__(self, image: Image, usable: Callable[[], Sequence[bytes]]) -> None:
        self._image = image
        self._usable = usable
        self._promised: Counter[bytes] = Counter()

    def begin(self) -> None:
        """Forget the reservations so far: their partitions are in the image now, or were not created."""
        self._promised.clear()

    def next(self) -> bytes:
        """Return the directory of one more partition. Raise KAFKA_STORAGE_ERROR if all directories have failed."""
        usable = self._usable()
        if not usable:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "All data directories have failed.")
        chosen = min(usable, key=lambda each: self._image.partitions_in[each] + self._promised[each])
        self._promised[chosen] += 1
        return chosen

    def elsewhere(self, directories: Iterable[bytes]) -> int:
        """Return the number of partitions in other directories than these, as far as it is known."""
        known = {b"", *directories}
        return sum(count for each, count in self._image.partitions_in.items() if each not in known)
