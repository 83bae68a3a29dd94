"""Streams to be disturbed, and what has to be true of them afterwards."""

from dataclasses import dataclass
from pathlib import Path

from tests.support.chaos import audit
from tests.support.chaos.driver import Stream
from tests.support.chaos.gate import Gate
from tests.support.chaos.ways import way_in
from tests.support.processes.server import Server

ROWS, ROWS_PER_BATCH = 300, 100


@dataclass
class Pipeline:
    """One stream, and the rows that it has to bring over."""

    stream: Stream
    rows: list[audit.Row]

    def check(self) -> audit.Verdict:
        """Every row is there once, in its key's order where that is promised, and nothing is left open."""
        stream = self.stream
        verdict = audit.audit(stream.bootstrap, stream.topic_out, self.rows)
        exact = audit.Verdict(len(self.rows), 0, 0, verdict.reordered if stream.is_shuffled else 0)
        assert verdict == exact, f"{stream.name}: {verdict}"
        audit.check_ledger(stream.bootstrap, stream.prefix, len(self.rows))
        assert audit.open_transactions(stream.bootstrap, stream.prefix) == []
        return verdict


def new_pipeline(
    server: Server,
    gate: Gate,
    name: str,
    work: Path,
    *,
    rows: int = ROWS,
    rows_per_batch: int = ROWS_PER_BATCH,
    restarts: int = 0,
    is_shuffled: bool = False,
    is_atomic: bool = False,
) -> Pipeline:
    """A pipeline with its topics, its source filled, of at least three batches."""
    written = audit.fill(server.address, f"in-{name}", rows)
    audit.make_topic(server.address, f"out-{name}")
    stream = Stream(
        name,
        server.address,
        f"in-{name}",
        f"out-{name}",
        str(work / f"checkpoint-{name}"),
        rows_per_batch=rows_per_batch,
        restarts=restarts,
        is_shuffled=is_shuffled,
        is_atomic=is_atomic,
    )
    stream.options = {
        "topic": stream.topic_out,
        "transactionalIdPrefix": stream.prefix,
        "chaosGate": gate.address,
        "chaosStream": name,
        "kafka.delivery.timeout.ms": "240000",  # which passes while a point is held, too
        **({"atomic": "true"} if is_atomic else {}),
    }
    stream.way_in = way_in(server, stream)
    return Pipeline(stream, written)
