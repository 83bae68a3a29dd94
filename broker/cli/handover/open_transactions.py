"""The transactions that were open when the broker stopped, and their outcome in Apache Kafka.

Reads the whole of `__transaction_state`, and holds unfinished transactions in memory. As when a coordinator loads it,
the last record of each transactional id counts.
"""

from __future__ import annotations

from barnabas.broker.cli.doctor.finding import CheckResult, note, warning
from barnabas.broker.cli.handover.releases import KEEPS_PREPARED
from barnabas.broker.cli.handover.stopped_directory import Stopped
from barnabas.broker.coordinator.transaction.decisions.model import NO_TIMEOUT_MS, TransactionMetadata
from barnabas.broker.coordinator.transaction.decisions.records import decode
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.logfiles.data_directory import PartitionFiles, read_layout
from barnabas.logfiles.log_file import LogFile
from barnabas.logfiles.walk import Bounds, walk_batches
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC
from barnabas.protocol.records.record import iter_records

_CHECK = "transactions"
_PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT, TransactionState.PREPARE_EPOCH_FENCE)


def examine(stopped: Stopped, release: str) -> list[CheckResult]:
    """Return a finding for each transaction that has not ended."""
    found: dict[str, TransactionMetadata] = {}
    try:
        for root in stopped.roots:
            for files in read_layout(root.directory.path, lambda topic, _: topic == TRANSACTION_STATE_TOPIC):
                _read(files, found)
    except (DecodeError, OSError) as failed:
        return [
            warning(
                _CHECK, f"{TRANSACTION_STATE_TOPIC} cannot be read: {failed}", "barnabas log verify shows the details"
            )
        ]
    return [_describe(txn, release) for _, txn in sorted(found.items())]


def _read(files: PartitionFiles, found: dict[str, TransactionMetadata]) -> None:
    for number, segment in enumerate(files.segments):
        bounds = Bounds(segment.base_offset, files.limit(number))
        with LogFile(files.log_path(number), segment.size) as log:
            for piece in walk_batches(log, 0, segment.size, bounds):
                if piece.header is None or piece.damage is not None or piece.header.is_control:
                    continue
                for record in iter_records(log.read(piece.position, piece.size)):
                    if record.offset >= files.log_start_offset:
                        _replay(decode(record.key, record.value), found)


def _replay(stored: object, found: dict[str, TransactionMetadata]) -> None:
    if not isinstance(stored, tuple):
        return
    transactional_id, txn = stored
    if txn is not None and (txn.state is TransactionState.ONGOING or txn.state in _PREPARED):
        found[transactional_id] = txn
    else:
        found.pop(transactional_id, None)


def _describe(txn: TransactionMetadata, release: str) -> CheckResult:
    who = f"{txn.transactional_id} (producer {txn.producer_id}, epoch {txn.producer_epoch})"
    if txn.state in _PREPARED:
        return note(_CHECK, f"{who}: its end is decided, and Apache Kafka writes its missing markers")
    if txn.timeout_ms != NO_TIMEOUT_MS:
        says = f"{who} is open: Apache Kafka aborts it when its producer returns, or when its timeout ends"
        return note(_CHECK, says)
    says = f"{who} is open in a two-phase commit: Apache Kafka keeps it"
    if release not in KEEPS_PREPARED:
        says += f", but {release} refuses InitProducerId with keepPreparedTxn, and aborts it without"
    return warning(_CHECK, says, "decide it before the handover, or end it in Kafka by its id and epoch")
