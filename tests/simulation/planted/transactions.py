"""Bugs of the transaction coordinator: its decisions, records, answers and their order."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("producer epoch not raised at the end", "The end of a transaction does not raise the producer epoch.").at(
        "_next_epoch", "txn.producer_epoch + 1", "txn.producer_epoch"
    ),
    Bug(
        "producer epoch not raised by InitProducerId",
        "InitProducerId returns the previous epoch, so it does not fence the previous producer.",
    ).at("_begin", "stored_epoch + 1", "max(stored_epoch, 0)"),
    Bug(
        "prepared abort ends in a commit",
        "A transaction that a restart finds in the state PrepareAbort gets commit markers.",
    ).at("marker", "txn.state is _PREPARE_COMMIT", "True"),
    Bug(
        "prepared transactions not completed",
        "A transaction that was in a prepared state when the broker was killed is not completed by the next start.",
        seeds=300,
    ).at("TransactionCoordinator._on_loaded", "if prepared: ...", "if len(prepared) > 100: ..."),
    Bug(
        "transaction visible partition by partition",
        "Consumers see a part of a transaction while its other markers are being written.",
    ).at(
        "TransactionMarkerWriter._mark",
        "self.write_marker(topic, partition, job.marker, transaction_version=job.version, hold=job.is_holding)",
        "self.write_marker(topic, partition, job.marker, transaction_version=job.version, hold=False)",
    ),
    Bug("one partition without a marker", "The last partition of a transaction gets no marker.").at(
        "TransactionMarkerWriter._write_all", "range(len(job.todo))", "range(max(1, len(job.todo) - 1))"
    ),
    Bug(
        "transaction timeout not applied", "A transaction that its producer does not end stays open after its timeout."
    ).at(
        "TransactionCoordinator._abort_if_timed_out",
        "timeouts.timed_out(txn, now_ms)",
        "timeouts.timed_out(txn, 0)",
    ),
    Bug(
        "state record acknowledged before its sync",
        "The coordinator answers before its state record is on disk.",
        seeds=300,
    ).at("Shard.execute", "synced is not None", "synced is not None and answers"),
    Bug(
        "producer epoch not written by InitProducerId",
        "InitProducerId returns a raised epoch that is not in the transaction log.",
    ).at(
        "_begin",
        "return written(after, InitReply(ErrorCode.NONE, producer_id, producer_epoch))",
        "known = producer_epoch > 0\n"
        "reply = InitReply(ErrorCode.NONE, producer_id, producer_epoch)\n"
        "return Outcome(reply=reply) if known else written(after, reply)",
    ),
    Bug(
        "open transaction not aborted by InitProducerId",
        "The open transaction of the previous producer is not aborted.",
    ).at("initialise", "TransactionState.PREPARE_ABORT", "TransactionState.DEAD"),
    Bug("EndTxn of an older epoch accepted", "EndTxn accepts the epoch of a fenced producer.", seeds=300).at(
        "_end_with_bump",
        "request.producer_epoch != holder_epoch and not is_retry",
        "request.producer_epoch > holder_epoch",
    ),
    Bug(
        "earlier partitions lost by AddPartitionsToTxn", "A transaction has only the partitions that were added last."
    ).at("add", "txn.partitions | request.partitions", "request.partitions"),
    Bug("transaction timeout doubled", "A transaction can stay open for twice its timeout.").at(
        "timed_out", "txn.timeout_ms", "2 * txn.timeout_ms"
    ),
    Bug(
        "transactional batch of an older epoch accepted",
        "A batch of an older epoch is accepted on a partition of the current transaction.",
        seeds=300,
    ).at("_holder_error", "producer_epoch != holder_epoch", "producer_epoch > holder_epoch"),
    Bug(
        "transaction start time moves",
        "The timeout of a transaction starts again with each added partition.",
        seeds=300,
    ).at("add", "txn.start_timestamp_ms if is_ongoing else now_ms", "now_ms"),
    Bug(
        "partition of a transaction not verified",
        "A batch is accepted on a partition that was not added to its transaction.",
        seeds=300,
        is_missed=True,
    ).at("verify", "_NONE if partition in txn.partitions else ErrorCode.TRANSACTION_ABORTABLE", "_NONE"),
    Bug("offsets committed before their marker", "Offsets in an open transaction are committed at once.").at(
        "commit_in_transaction",
        "Outcome(records=records, producer=producer, reply=reply)",
        "Outcome(records=records, reply=reply)",
    ),
    Bug("offsets of an aborted transaction committed", "The marker in `__consumer_offsets` always commits.").at(
        "TransactionMarkerWriter.write_marker",
        "offsets = self._offsets()",
        "offsets, marker = self._offsets(), marker._replace(commit=True)",
    ),
    Bug(
        "offsets of a completed transaction stay unstable",
        "The offsets of a transaction stay pending after its records are visible.",
    ).at("PendingOffsets.release", "self._held.pop(producer_id, _NOTHING)", "self._held.get(-1, _NOTHING)"),
    Bug("wrong epoch for a retried EndTxn", "The answer to a retried EndTxn has an epoch that is one too high.").at(
        "_end_with_bump", "txn.producer_epoch", "txn.producer_epoch + 1"
    ),
    Bug(
        "retried EndTxn ends the next transaction",
        "EndTxn with the previous epoch ends the transaction that is open now.",
        seeds=300,
    ).at("_end_with_bump", "(request.is_commit, is_retry)", "(request.is_commit, False)"),
    Bug(
        "transaction completed before its markers",
        "A transaction is complete as soon as it is decided, and its markers are written later.",
    ).at(
        "TransactionMarkerWriter.finish",
        "job = self._jobs[key] = MarkerJob(name, marker, transaction_version, partitions, done)",
        "job = self._jobs[key] = MarkerJob(name, marker, transaction_version, partitions, lambda: True)\ndone()",
    ),
)
