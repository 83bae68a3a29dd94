"""Bugs of the transaction coordinator: what is decided, written, answered, in which order."""

from __future__ import annotations

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "the marker's epoch not raised",
        "The end of a transaction does not raise its producer's epoch.",
        "broker/coordinator/transaction/ending.py",
        "    return min(txn.producer_epoch + 1, LAST_PRODUCER_EPOCH)\n",
        "    return min(txn.producer_epoch, LAST_PRODUCER_EPOCH)\n",
    ),
    bug(
        "a new producer gets the old one's epoch",
        "InitProducerId fences nobody.",
        "broker/coordinator/transaction/initialising.py",
        "    producer_id, producer_epoch = txn.producer_id, stored_epoch + 1\n",
        "    producer_id, producer_epoch = txn.producer_id, max(stored_epoch, 0)\n",
    ),
    bug(
        "a timeout that commits",
        "What is found prepared to abort gets markers that commit.",
        "broker/coordinator/transaction/completing.py",
        "    return Marker(txn.producer_id, txn.producer_epoch, txn.state is TransactionState.PREPARE_COMMIT)\n",
        "    return Marker(txn.producer_id, txn.producer_epoch, True)\n",
    ),
    bug(
        "prepared transactions forgotten",
        "What a kill left prepared is not finished by the next start.",
        "broker/coordinator/transactions.py",
        "        prepared = partition.machine.prepared()\n        if prepared:\n",
        "        prepared = partition.machine.prepared()\n        if len(prepared) > 100:\n",
    ),
    bug(
        "a transaction shown partition by partition",
        "Readers see a part of a transaction while its other markers are written.",
        "broker/coordinator/markers.py",
        "transaction_version=job.version, hold=job.is_holding)\n",
        "transaction_version=job.version, hold=False)\n",
    ),
    bug(
        "one partition without a marker",
        "The last partition of a transaction gets no marker.",
        "broker/coordinator/markers.py",
        "        for count in range(len(job.todo)):\n",
        "        for count in range(max(1, len(job.todo) - 1)):\n",
    ),
    bug(
        "timeouts forgotten",
        "A transaction that nobody ends stays open.",
        "broker/coordinator/transactions.py",
        "        if txn is None or not completing.timed_out(txn, now_ms):\n",
        "        if txn is None or not completing.timed_out(txn, 0):\n",
    ),
    bug(
        "a state record acknowledged before its sync",
        "The coordinator answers at once what the disk does not have yet.",
        "broker/coordinator/runtime/shard.py",
        "        if synced is not None:\n            return self._answer_when_synced(",
        "        if synced is not None and not answers:\n            synced = None\n        if synced is not None:\n            return self._answer_when_synced(",
        seeds=300,
    ),
    bug(
        "a fence that is not durable",
        "InitProducerId is answered without a record of it.",
        "broker/coordinator/transaction/initialising.py",
        "    return written(after, InitReply(ErrorCode.NONE, producer_id, producer_epoch))\n",
        "    known = producer_epoch > 0\n"
        "    reply = InitReply(ErrorCode.NONE, producer_id, producer_epoch)\n"
        "    return Outcome(reply=reply) if known else written(after, reply)\n",
    ),
    bug(
        "an open transaction that is not aborted by the next producer",
        "InitProducerId leaves open what the producer before had begun.",
        "broker/coordinator/transaction/initialising.py",
        "    if meaning.state is TransactionState.PREPARE_ABORT:\n",
        "    if meaning.state is TransactionState.DEAD:\n",
    ),
    bug(
        "an end that anybody may ask for",
        "EndTxn takes an older producer's epoch.",
        "broker/coordinator/transaction/ending.py",
        "        if request.producer_epoch != holder_epoch and not is_retry:\n",
        "        if request.producer_epoch > holder_epoch:\n",
        seeds=300,
    ),
    bug(
        "partitions forgotten when one is added",
        "A transaction has only the partitions that were added last.",
        "broker/coordinator/transaction/adding.py",
        "        partitions=txn.partitions | request.partitions,\n",
        "        partitions=request.partitions,\n",
    ),
    bug(
        "the start of a transaction moves",
        "Its timeout counts from its last partition on.",
        "broker/coordinator/transaction/adding.py",
        "        start_timestamp_ms=txn.start_timestamp_ms if is_ongoing else now_ms,\n",
        "        start_timestamp_ms=now_ms,\n",
        seeds=300,
    ),
    bug(
        "batches of nobody's transaction",
        "A batch may begin on a partition that its transaction does not have.",
        "broker/coordinator/transaction/adding.py",
        "        partition: ErrorCode.NONE if partition in txn.partitions else ErrorCode.TRANSACTION_ABORTABLE\n",
        "        partition: ErrorCode.NONE\n",
        seeds=300,
    ),
    bug(
        "offsets counted before their marker",
        "A group's offsets of an open transaction are committed at once.",
        "broker/coordinator/group/offsets/offsets.py",
        "    return Outcome(records=records, producer=producer, reply=reply)\n",
        "    return Outcome(records=records, reply=reply)\n",
    ),
    bug(
        "offsets of an aborted transaction counted",
        "The marker of a group's offsets always commits.",
        "broker/coordinator/markers.py",
        "            return offsets.append_marker(partition, marker, transaction_version=transaction_version, hold=hold).synced\n",
        "            marker = marker._replace(commit=True)\n"
        "            return offsets.append_marker(partition, marker, transaction_version=transaction_version, hold=hold).synced\n",
    ),
    bug(
        "offsets shown too late",
        "Held offsets of a transaction that is shown stay unstable.",
        "broker/coordinator/group/offsets/pending.py",
        "        return self._ended(producer_id, self._held.pop(producer_id, _NOTHING))\n",
        "        return self._ended(producer_id, self._held.get(-1, _NOTHING))\n",
    ),
    bug(
        "a retry of EndTxn gets the next transaction's epoch",
        "The answer to a retried EndTxn has one epoch too many.",
        "broker/coordinator/transaction/ending.py",
        "    if isinstance(meaning, Proceed):\n        return Outcome(reply=EndReply(ErrorCode.NONE, txn.producer_id, txn.producer_epoch))\n    return _ended(moved(txn, event, now_ms=now_ms, **_bumped",
        "    if isinstance(meaning, Proceed):\n        return Outcome(reply=EndReply(ErrorCode.NONE, txn.producer_id, txn.producer_epoch + 1))\n    return _ended(moved(txn, event, now_ms=now_ms, **_bumped",
    ),
    bug(
        "a retry that ends the next transaction",
        "EndTxn of the epoch before ends what is open now.",
        "broker/coordinator/transaction/ending.py",
        "    event = _TV2_EVENTS[request.is_commit, is_retry]\n",
        "    event = _TV2_EVENTS[request.is_commit, False]\n",
        seeds=300,
    ),
    bug(
        "completion before the markers",
        "A transaction is complete as soon as it is decided; its markers follow.",
        "broker/coordinator/markers.py",
        "        job = self._jobs[key] = MarkerJob(name, marker, transaction_version, partitions, done)\n        job.is_holding |= is_told",
        "        job = self._jobs[key] = MarkerJob(name, marker, transaction_version, partitions, lambda: True)\n        done()\n        job.is_holding |= is_told",
        seeds=300,
    ),
)
