"""Bugs of partitions: sequences, windows, watermarks, what an append and a read do."""

from __future__ import annotations

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "one sequence too many",
        "A batch is taken that leaves one sequence out.",
        "storage/producers/producer.py",
        "        if header.base_sequence != expected:\n",
        "        if header.base_sequence not in (expected, expected + 1):\n",
    ),
    bug(
        "the window forgotten",
        "A batch that comes again is not recognised.",
        "storage/producers/producer.py",
        "            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:\n",
        "            if batch.first_sequence == last_sequence + 1:\n",
    ),
    bug(
        "sequences not checked",
        "Any sequence is taken.",
        "storage/producers/producer.py",
        "        if header.base_sequence != expected:\n",
        "        if header.base_sequence < 0:\n",
    ),
    bug(
        "epochs not checked",
        "A producer that was fenced may go on writing.",
        "storage/producers/producer.py",
        "        if producer_epoch < self.producer_epoch:\n",
        "        if producer_epoch < -1:\n",
    ),
    bug(
        "the last stable offset moved too early",
        "Readers of committed records get past a transaction whose first batch is not its last.",
        "storage/producers/open_transactions.py",
        "        self._open[producer_id] = first_offset\n        self.unstable[first_offset] = producer_id\n",
        "        self._open[producer_id] = first_offset\n        self.unstable[first_offset + 1] = producer_id\n",
    ),
    bug(
        "an abort not noted",
        "The transaction index does not know of an aborted transaction.",
        "storage/producers/open_transactions.py",
        "        return CompletedTxn(marker.producer_id, first_offset, offset, aborted=not marker.commit)\n",
        "        return CompletedTxn(marker.producer_id, first_offset, offset, aborted=False)\n",
    ),
    bug(
        "an abort noted from one offset on too late",
        "The transaction index has another first offset than the transaction.",
        "storage/producers/open_transactions.py",
        "        return AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset,",
        "        return AbortedTxn(completed.producer_id, completed.first_offset + 1, completed.last_offset,",
    ),
)
