"""Bugs of the transaction coordinator: what is decided, written, answered, in which order."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("the marker's epoch not raised", "The end of a transaction does not raise its producer's epoch.").at(
        "_next_epoch", "txn.producer_epoch + 1", "txn.producer_epoch"
    ),
    Bug("a new producer gets the old one's epoch", "InitProducerId fences nobody.").at(
        "_begin", "stored_epoch + 1", "max(stored_epoch, 0)"
    ),
    Bug("a timeout that commits", "What is found prepared to abort gets markers that commit.").at(
        "marker", "txn.state is TransactionState.PREPARE_COMMIT", "True"
    ),
    Bug(
        "prepared transactions forgotten", "What a kill left prepared is not finished by the next start.", seeds=300
    ).at("TransactionCoordinator._on_loaded", "if prepared: ...", "if len(prepared) > 100: ..."),
    Bug(
        "a transaction shown partition by partition",
        "Readers see a part of a transaction while its other markers are written.",
    ).at(
        "TransactionMarkerWriter._mark",
        "self.write_marker(topic, partition, job.marker, transaction_version=job.version, hold=job.is_holding)",
        "self.write_marker(topic, partition, job.marker, transaction_version=job.version, hold=False)",
    ),
    Bug("one partition without a marker", "The last partition of a transaction gets no marker.").at(
        "TransactionMarkerWriter._write_all", "range(len(job.todo))", "range(max(1, len(job.todo) - 1))"
    ),
    Bug("timeouts forgotten", "A transaction that nobody ends stays open.").at(
        "TransactionCoordinator._abort_if_timed_out",
        "timeouts.timed_out(txn, now_ms)",
        "timeouts.timed_out(txn, 0)",
    ),
    Bug(
        "a state record acknowledged before its sync",
        "The coordinator answers at once what the disk does not have yet.",
        seeds=300,
    ).at("Shard.execute", "synced is not None", "synced is not None and answers"),
    Bug("a fence that is not durable", "InitProducerId is answered without a record of it.").at(
        "_begin",
        "return written(after, InitReply(ErrorCode.NONE, producer_id, producer_epoch))",
        "known = producer_epoch > 0\n"
        "reply = InitReply(ErrorCode.NONE, producer_id, producer_epoch)\n"
        "return Outcome(reply=reply) if known else written(after, reply)",
    ),
    Bug(
        "an open transaction that is not aborted by the next producer",
        "InitProducerId leaves open what the producer before had begun.",
    ).at("initialise", "TransactionState.PREPARE_ABORT", "TransactionState.DEAD"),
    Bug("an end that anybody may ask for", "EndTxn takes an older producer's epoch.", seeds=300).at(
        "_end_with_bump",
        "request.producer_epoch != holder_epoch and not is_retry",
        "request.producer_epoch > holder_epoch",
    ),
    Bug("partitions forgotten when one is added", "A transaction has only the partitions that were added last.").at(
        "add", "txn.partitions | request.partitions", "request.partitions"
    ),
    Bug("timeouts that are too long", "A transaction may be open for twice its timeout.").at(
        "timed_out", "txn.timeout_ms", "2 * txn.timeout_ms"
    ),
    Bug(
        "a zombie's batch in the next one's transaction",
        "A batch of an older epoch may begin on a partition that the present epoch's transaction has.",
        seeds=300,
    ).at("_holder_error", "producer_epoch != holder_epoch", "producer_epoch > holder_epoch"),
    Bug("the start of a transaction moves", "Its timeout counts from its last partition on.", seeds=300).at(
        "add", "txn.start_timestamp_ms if is_ongoing else now_ms", "now_ms"
    ),
    Bug(
        "batches of nobody's transaction",
        "A batch may begin on a partition that its transaction does not have.",
        seeds=300,
        is_missed=True,
    ).at(
        "verify", "ErrorCode.NONE if partition in txn.partitions else ErrorCode.TRANSACTION_ABORTABLE", "ErrorCode.NONE"
    ),
    Bug("offsets counted before their marker", "A group's offsets of an open transaction are committed at once.").at(
        "commit_in_transaction",
        "Outcome(records=records, producer=producer, reply=reply)",
        "Outcome(records=records, reply=reply)",
    ),
    Bug("offsets of an aborted transaction counted", "The marker of a group's offsets always commits.").at(
        "TransactionMarkerWriter.write_marker",
        "offsets = self._offsets()",
        "offsets, marker = self._offsets(), marker._replace(commit=True)",
    ),
    Bug("offsets shown too late", "Held offsets of a transaction that is shown stay unstable.").at(
        "PendingOffsets.release", "self._held.pop(producer_id, _NOTHING)", "self._held.get(-1, _NOTHING)"
    ),
    Bug(
        "a retry of EndTxn gets the next transaction's epoch", "The answer to a retried EndTxn has one epoch too many."
    ).at("_end_with_bump", "txn.producer_epoch", "txn.producer_epoch + 1"),
    Bug("a retry that ends the next transaction", "EndTxn of the epoch before ends what is open now.", seeds=300).at(
        "_end_with_bump", "(request.is_commit, is_retry)", "(request.is_commit, False)"
    ),
    Bug("completion before the markers", "A transaction is complete as soon as it is decided; its markers follow.").at(
        "TransactionMarkerWriter.finish",
        "job = self._jobs[key] = MarkerJob(name, marker, transaction_version, partitions, done)",
        "job = self._jobs[key] = MarkerJob(name, marker, transaction_version, partitions, lambda: True)\ndone()",
    ),
)
