"""Kafka's transaction coordinator reads every record of the golden stories as we mean it, and writes the same bytes."""

from pathlib import Path

from barnabas.broker.coordinator.transaction.decisions import records
from barnabas.protocol.records.record import BatchRecord
from tests.support.clients.java import run_program
from tests.support.stories.transaction import Story
from tests.support.worlds.transaction import PARTITION

PROGRAM = Path(__file__).with_name("Transactions.java")
STORIES = sorted((Path(__file__).parents[1] / "golden" / "transaction").glob("*.txt"))


def _written() -> list[tuple[int, BatchRecord]]:
    """The records of all stories, each with the transaction.version at its end."""
    written: list[tuple[int, BatchRecord]] = []
    for path in STORIES:
        story = Story()
        story.run(path.read_text())
        for record in story.world.topic.records(PARTITION):
            version = 0 if record.value is not None and record.value[:2] == b"\0\0" else 2
            written.append((version, record))
    return written


def test_kafkas_coordinator_reads_and_rewrites_what_ours_wrote() -> None:
    written = _written()
    lines = [
        f"{version} {(record.key or b'').hex()} {'-' if record.value is None else record.value.hex()}"
        for version, record in written
    ]
    answers = run_program(PROGRAM, stdin="\n".join(lines) + "\n").splitlines()
    assert len(answers) == len(written) > 200
    for (_, record), answer in zip(written, answers, strict=True):
        decoded = records.decode(record.key, record.value)
        assert decoded is not None
        txn = decoded.stored
        if txn is None or record.value is None:
            assert answer == f"{decoded.transactional_id} removed"
            continue
        *facts, again = answer.split(" ")
        assert facts == [
            txn.transactional_id,
            txn.state.value,
            str(txn.producer_id),
            str(txn.producer_epoch),
            str(txn.previous_producer_id),
            str(txn.timeout_ms),
            str(len(txn.partitions)),
            str(txn.start_timestamp_ms),
            str(txn.last_update_timestamp_ms),
            str(txn.client_transaction_version),
        ]
        if txn.next_producer_epoch == -1 and len(txn.partitions) < 2:  # Kafka knows no kept ones, and no order
            assert again == record.value.hex()
