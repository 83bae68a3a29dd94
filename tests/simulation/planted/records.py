"""Bugs of partitions: sequences, windows, watermarks, what an append and a read do."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("one sequence too many", "A batch is taken that leaves one sequence out.").at(
        "ProducerStateEntry.check_sequence",
        "header.base_sequence != expected",
        "header.base_sequence not in (expected, expected + 1)",
    ),
    Bug("the window forgotten", "A batch that comes again is not recognised.").at(
        "ProducerStateEntry.find",
        "batch.first_sequence == first_sequence and batch.last_sequence == last_sequence",
        "batch.first_sequence == last_sequence + 1",
    ),
    Bug("sequences not checked", "Any sequence is taken.").at(
        "ProducerStateEntry.check_sequence", "header.base_sequence != expected", "header.base_sequence < 0"
    ),
    Bug("epochs not checked", "A producer that was fenced may go on writing.").at(
        "ProducerStateEntry.check_epoch", "producer_epoch < self.producer_epoch", "producer_epoch < -1"
    ),
    Bug(
        "the last stable offset moved too early",
        "Readers of committed records get past a transaction whose first batch is not its last.",
    ).at(
        "OpenTransactions.begin",
        "self.unstable[first_offset] = producer_id",
        "self.unstable[first_offset + 1] = producer_id",
    ),
    Bug("an abort not noted", "The transaction index does not know of an aborted transaction.").at(
        "OpenTransactions.completed_by", "not marker.commit", "False"
    ),
    Bug(
        "an abort noted from one offset on too late",
        "The transaction index has another first offset than the transaction.",
    ).at("OpenTransactions.aborted_txn", "completed.first_offset", "completed.first_offset + 1"),
    Bug("the window forgotten by a snapshot", "A producer that a snapshot restores has no last batch.").at(
        "ProducerStateEntry.restored", "entry.last_offset > NO_OFFSET", "entry.last_offset > 1 << 60"
    ),
    Bug("open transactions forgotten by a snapshot", "A producer that a snapshot restores has no open transaction.").at(
        "ProducerStateEntry.restored",
        "entry.current_txn_first_offset > NO_OFFSET",
        "entry.current_txn_first_offset > 1 << 60",
    ),
    Bug("the epoch forgotten by a snapshot", "A producer that a snapshot restores has epoch 0.").at(
        "ProducerStateEntry.restored", "entry.producer_epoch", "0"
    ),
    Bug("a snapshot taken too late", "The snapshot at the end of a segment has what comes behind it, too.")
    .at("Roller.seal_active", "self._watermarks.log_end_offset", "self._segments.active.base_offset")
    .at(
        "Roller._seal",
        "snapshots.write(end_offset, self._producers.snapshot())",
        "snapshots.write(active.base_offset, self._producers.snapshot())",
    ),
    Bug("a marker that leaves the transaction open", "The producer of a marker is still in its transaction.").at(
        "ProducerStateManager.add_marker",
        "producer.current_txn_first_offset = None",
        "producer.current_txn_first_offset = producer.current_txn_first_offset",
    ),
    Bug("a marker that does not fence", "The producer's epoch stays when a marker with the next one is written.").at(
        "ProducerStateManager.add_marker", "producer.adopt_epoch(marker.producer_epoch)"
    ),
    Bug("another epoch keeps the window", "The sequences of a new epoch go on where the old one's ended.").at(
        "ProducerStateEntry.adopt_epoch", "self.window = []\nself.next_sequence = 0"
    ),
    Bug(
        "aborted transactions of the slice's own segment only",
        "A reader is not told of transactions whose marker lies in a later segment.",
    ).at("aborted_in", "segments[index:]", "segments[index : index + 1]"),
    Bug("committed readers read to the high watermark", "The last stable offset bounds nobody.").at(
        "Reader.read", "marks.last_stable_offset if committed else marks.high_watermark", "marks.high_watermark"
    ),
    Bug("a transaction index that is not written", "A sealed segment has no transaction index.").at(
        "TransactionIndex.write", "self._is_synced", "self._is_synced or len(self) > 0"
    ),
    Bug("markers that are not replayed", "After a start what was ended is open again.").at(
        "ProducerRebuild.replay", "self.producers.add_marker(marker, header.base_offset, self._now_ms)"
    ),
    Bug("batches that are not replayed", "After a start the producers of the last segment are not known.").at(
        "ProducerRebuild.replay", "self.producers.add_batch(header, self._now_ms)"
    ),
    Bug("no sync although one was asked for", "Answers do not wait for the disk.").at(
        "Watermarks.is_sync_awaited", "self.log_end_offset - self.recovery_point >= self._flush_messages", "False"
    ),
    Bug(
        "aborted transactions of before",
        "A Fetch names aborted transactions that were over before it begins, as if they went on.",
    ).at("aborted_in", "segment.aborted(start_offset, upper_bound)", "segment.aborted(0, upper_bound)"),
)
