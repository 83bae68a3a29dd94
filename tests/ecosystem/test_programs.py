"""Each row of docs/ecosystem.md copies 2,000 records into another topic, and the broker is killed at the first copies.

A row that promises exactly once has each record once in the eyes of a read_committed consumer, and its transactions
are in the log; the others have each at least once.
"""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.depth import long
from tests.support.ecosystem.installing import command
from tests.support.ecosystem.row import Row
from tests.support.ecosystem.rows import ROWS
from tests.support.ecosystem.sources import source_of
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until
from tests.transactions.views import PARTITIONS, make_topics, values

COUNT = 2_000
EXPECTED = sorted(map(str, range(COUNT)))


@pytest.mark.parametrize("row", [row if row.is_quick else long(row) for row in ROWS], ids=lambda row: row.source.stem)
def test_a_program_copies_all_records_over_a_kill_of_the_broker(row: Row, server: Server, tmp_path: Path) -> None:
    make_topics(server.address, "out")
    with source_of(row, server.address) as source:
        source.write(COUNT // 2)
        program = Program(command(row, server.address, source.place, "out", "copiers", str(tmp_path / "state")))

        def copied() -> set[str]:
            assert not program.has_ended, program.succeed()
            return set(values(server.address, "out"))

        with program:
            until(copied, PATIENCE_S)
            server.kill()
            server.start()
            source.write(COUNT // 2, first=COUNT // 2)
            until(lambda: copied() >= set(EXPECTED), PATIENCE_S)
            program.stop()
    if row.is_exact:
        assert values(server.address, "out") == EXPECTED
        assert _end(server.address) > COUNT, "no marker of a transaction is in the log"
    else:
        assert set(values(server.address, "out")) == set(EXPECTED)


def _end(address: str) -> int:
    """The sum of the log end offsets of "out": records and transaction markers, committed or not."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "none"})
    try:
        ends = [consumer.get_watermark_offsets(TopicPartition("out", number)) for number in range(PARTITIONS)]
    finally:
        consumer.close()
    return sum(high for _, high in ends)
