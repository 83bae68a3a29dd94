"""Entries that are encoded as producers change: a snapshot says the same as one that is made of all of them at once."""

from random import Random

import pytest

from barnabas.protocol.files.producer_snapshot import ProducerEntry, decode, encode_entry
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.producers import encoded_producers
from barnabas.storage.producers.encoded_producers import CHANGED_MAX
from barnabas.storage.producers.producer_state_manager import EXPIRY_GRACE_MS, ProducerStateManager
from barnabas.storage.steps import AT_ONCE
from tests.support.records.producer_batches import batch


@pytest.mark.pure
def test_a_snapshot_encodes_few_entries_however_many_producers_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    producers = ProducerStateManager(encoded_from=CHANGED_MAX)
    encodings: list[ProducerEntry] = []

    def encode(entry: ProducerEntry) -> bytes:
        encodings.append(entry)
        return encode_entry(entry)

    for number in range(2):
        for producer_id in range(5 * CHANGED_MAX - 1):
            offset = number * 5 * CHANGED_MAX + producer_id
            producers.add_batch(batch(number, offset=offset, producer_id=producer_id), 0)
        with monkeypatch.context() as patch:
            patch.setattr(encoded_producers, "encode_entry", encode)
            assert len(decode(producers.snapshot())) == len(producers) == 5 * CHANGED_MAX - 1
        assert 0 < len(encodings) < CHANGED_MAX
        encodings.clear()


@pytest.mark.parametrize(("producers_max", "encoded_from"), [(4, 0), (4, 2), (3 * CHANGED_MAX, CHANGED_MAX)])
def test_a_snapshot_has_every_producer_as_it_is_after_any_life(
    seed: int, producers_max: int, encoded_from: int
) -> None:
    dice = Random(seed)
    producers, sequences, now_ms = ProducerStateManager(encoded_from=encoded_from), dict[int, int](), 0
    for offset in range(4 * producers_max):
        producer_id = dice.randrange(producers_max)
        what = dice.random()
        if what < 0.7:
            sequence = sequences.get(producer_id, 0)
            sent = batch(sequence, offset=offset, producer_id=producer_id, transactional=what < 0.2, timestamp=now_ms)
            producers.add_batch(sent, now_ms)
            sequences[producer_id] = sequence + 1
        elif what < 0.95:
            producers.add_marker(EndTxnMarker(True, producer_id, 0, 0, offset, now_ms), offset, now_ms)
        else:
            now_ms += EXPIRY_GRACE_MS // 2
            producers.expire(now_ms, EXPIRY_GRACE_MS)
        if dice.random() < 0.1:
            assert sorted(decode(producers.snapshot())) == sorted(producers.to_snapshot())
    assert producers.encoded is not None
    after = ProducerStateManager(encoded_from=encoded_from)
    steps = after.restore(decode(producers.snapshot()), 4 * producers_max, now_ms)
    assert sum(1 for _ in steps) >= len(producers) // AT_ONCE
    assert sorted(decode(after.snapshot())) == sorted(producers.to_snapshot())
