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
)
