"""Which data directory a new partition is put in: the one with the fewest partitions, as in Apache Kafka.

Pure but for what it has promised: partitions whose records are not in the image yet count, too. Knows directories by
their ids, and of a partition only that it takes a place.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from barnabas.broker.metadata.image.image import Image
from barnabas.protocol.errors import ErrorCode, KafkaError


class Places:
    """The places of one catalogue. `usable`: the ids of the directories that can be used now, in their order."""

    def __init__(self, image: Image, usable: Callable[[], Sequence[bytes]]) -> None:
        self._image = image
        self._usable = usable
        self._promised: Counter[bytes] = Counter()

    def begin(self) -> None:
        """What was promised so far is in the image by now, or was not meant."""
        self._promised.clear()

    def next(self) -> bytes:
        """The directory of one more partition. KafkaError KAFKA_STORAGE_ERROR when all have failed."""
        usable = self._usable()
        if not usable:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "All data directories have failed.")
        chosen = min(usable, key=lambda each: self._image.partitions_in[each] + self._promised[each])
        self._promised[chosen] += 1
        return chosen

    def elsewhere(self, directories: Iterable[bytes]) -> int:
        """How many partitions lie in other directories than these, as far as that is known."""
        known = {b"", *directories}
        return sum(count for each, count in self._image.partitions_in.items() if each not in known)
