"""Bugs of partitions: sequences, producer state, watermarks, appends and reads."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("sequence gap of one accepted", "A batch is accepted although the sequence number before it is missing.").at(
        "ProducerStateEntry.check_sequence",
        "header.base_sequence != expected",
        "header.base_sequence not in (expected, expected + 1)",
    ),
    Bug("duplicate batch not recognised", "A batch that the producer sends again is not recognised as a duplicate.").at(
        "ProducerStateEntry.find",
        "batch.first_sequence == first_sequence and batch.last_sequence == last_sequence",
        "batch.first_sequence == last_sequence + 1",
    ),
    Bug("sequences not checked", "Any sequence number is accepted.").at(
        "ProducerStateEntry.check_sequence", "header.base_sequence != expected", "header.base_sequence < 0"
    ),
    Bug("producer epochs not checked", "A fenced producer can continue to write.").at(
        "ProducerStateEntry.check_epoch", "producer_epoch < self.producer_epoch", "producer_epoch < -1"
    ),
    Bug(
        "last stable offset too high",
        "The last stable offset is one above the first offset of the earliest open transaction.",
    ).at(
        "OpenTransactions.begin",
        "self.unstable[first_offset] = producer_id",
        "self.unstable[first_offset + 1] = producer_id",
    ),
    Bug("aborted transaction not indexed", "An aborted transaction gets no entry in the transaction index.").at(
        "OpenTransactions.completed_by", "not marker.commit", "False"
    ),
    Bug(
        "wrong first offset in the transaction index",
        "The entry of an aborted transaction begins one offset too late.",
    ).at("OpenTransactions.aborted_txn", "completed.first_offset", "completed.first_offset + 1"),
    Bug("last batch not restored from a snapshot", "A producer that is restored from a snapshot has no last batch.").at(
        "ProducerStateEntry.restored", "entry.last_offset > NO_OFFSET", "entry.last_offset > 1 << 60"
    ),
    Bug(
        "open transaction not restored from a snapshot",
        "A producer that is restored from a snapshot has no open transaction.",
    ).at(
        "ProducerStateEntry.restored",
        "entry.current_txn_first_offset > NO_OFFSET",
        "entry.current_txn_first_offset > 1 << 60",
    ),
    Bug("producer epoch not restored from a snapshot", "A producer that is restored from a snapshot has epoch 0.").at(
        "ProducerStateEntry.restored", "entry.producer_epoch", "0"
    ),
    Bug("producer snapshot taken too late", "A producer snapshot also contains batches after the offset in its name.")
    .at("Roller.seal_active", "self._watermarks.log_end_offset", "self._segments.active.base_offset")
    .at(
        "Roller._seal",
        "snapshots.write(end_offset, self._producers.snapshot())",
        "snapshots.write(active.base_offset, self._producers.snapshot())",
    ),
    Bug(
        "transaction not closed by its marker",
        "After a transaction marker, the producer state still has the open transaction.",
    ).at(
        "ProducerStateManager.add_marker",
        "producer.current_txn_first_offset = None",
        "producer.current_txn_first_offset = producer.current_txn_first_offset",
    ),
    Bug(
        "producer epoch not raised by a marker",
        "A marker with a higher epoch does not raise the epoch in the producer state.",
    ).at("ProducerStateManager.add_marker", "producer.adopt_epoch(producer_epoch)"),
    Bug(
        "sequences not reset by a new epoch",
        "With a new producer epoch, the sequence numbers continue instead of starting at 0.",
    ).at("ProducerStateEntry.adopt_epoch", "self.window = []\nself.next_sequence = 0"),
    Bug(
        "aborted transactions of one segment only",
        "A Fetch does not list an aborted transaction whose marker is in a later segment.",
    ).at("aborted_in", "segments[index:]", "segments[index : index + 1]"),
    Bug("last stable offset ignored by Fetch", "Consumers with `read_committed` read up to the high watermark.").at(
        "Reader.read", "marks.last_stable_offset if committed else marks.high_watermark", "marks.high_watermark"
    ),
    Bug("transaction index not written", "A sealed segment has no transaction index file.").at(
        "TransactionIndex.write", "self._is_synced", "self._is_synced or len(self) > 0"
    ),
    Bug("markers not replayed at start", "After a restart, completed transactions are open again.").at(
        "ProducerRebuild.replay", "self.producers.add_marker(marker, header.base_offset, self._now_ms)"
    ),
    Bug("batches not replayed at start", "After a restart, the producers of the last segment are unknown.").at(
        "ProducerRebuild.replay", "self.producers.add_batch(header, self._now_ms)"
    ),
    Bug(
        "sync before the answer omitted",
        "Produce is answered before the sync to disk that the topic's config requires.",
    ).at("Watermarks.is_sync_awaited", "self.log_end_offset - self.recovery_point >= self._flush_messages", "False"),
    Bug(
        "earlier aborted transactions returned",
        "A Fetch also lists aborted transactions that ended before its start offset.",
    ).at("aborted_in", "segment.aborted(start_offset, upper_bound)", "segment.aborted(0, upper_bound)"),
)
