"""A log that grows at random: plain, idempotent and transactional batches, tombstones, keys that come again."""

from random import Random

from tests.support.worlds.compacted_log import CompactedLog, Pair


class RandomLog:
    """Writes to a log. Its transactions, if any, are committed, aborted, and left open over segments and rounds."""

    def __init__(
        self, log: CompactedLog, chance: Random, compression: int = 0, *, has_transactions: bool = True
    ) -> None:
        self.log = log
        self._chance = chance
        self._compression = compression
        self._has_transactions = has_transactions
        self._sequences: dict[int, int] = {}
        self._open: set[int] = set()

    def go_on(self, segments_max: int = 4) -> None:
        """Some more segments, and the unsealed rest."""
        for _ in range(self._chance.randint(1, segments_max)):
            for _ in range(self._chance.randint(1, 12)):
                self._step()
            self.log.roll()
        for producer_id in sorted(self._open):
            if self._chance.random() < 0.7:
                self._end(producer_id)
        if self._chance.random() < 0.5:
            self.log.data(*self._pairs())

    def _step(self) -> None:
        chance = self._chance.random()
        if chance < 0.35:
            timestamp_type = int(self._chance.random() < 0.2)
            self.log.data(*self._pairs(), compression=self._compression, timestamp_type=timestamp_type)
        elif chance < 0.5 or not self._has_transactions:
            self._send(self._chance.choice((1, 2)), transactional=False)
        elif chance < 0.8 or not self._open:
            producer_id = self._chance.choice((11, 12, 13))
            self._open.add(producer_id)
            self._send(producer_id, transactional=True)
        else:
            self._end(self._chance.choice(sorted(self._open)))

    def _send(self, producer_id: int, *, transactional: bool) -> None:
        pairs = self._pairs()
        sequence = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = sequence + len(pairs)
        self.log.data(
            *pairs,
            producer=(producer_id, 0),
            sequence=sequence,
            transactional=transactional,
            compression=self._compression,
        )

    def _end(self, producer_id: int) -> None:
        self._open.discard(producer_id)
        self.log.marker((producer_id, 0), commit=self._chance.random() < 0.5)

    def _pairs(self) -> list[Pair]:
        return [self._pair() for _ in range(self._chance.randint(1, 6))]

    def _pair(self) -> Pair:
        key = b"key%d" % self._chance.randint(0, 25) if self._chance.random() < 0.97 else None
        value = self._chance.randbytes(self._chance.randint(0, 40)) if self._chance.random() < 0.8 else None
        return key, value
