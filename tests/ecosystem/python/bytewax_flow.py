"""bytewax_flow ADDRESS SOURCE TARGET GROUP DIRECTORY: copy a topic into another with a bytewax dataflow.

The offsets are in the recovery store in DIRECTORY, from where the flow goes on when it is started again.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import cluster_main


def flow(address: str, source: str, target: str) -> Dataflow:
    flow = Dataflow("copier")
    records = op.input("in", flow, KafkaSource([address], [source], batch_size=20))
    written = op.map("copy", records, lambda record: KafkaSinkMessage(record.key, record.value))
    op.output("out", written, KafkaSink([address], target))
    return flow


def main(address: str, source: str, target: str, _: str, directory: str) -> None:
    store = Path(directory)
    if not store.exists():
        store.mkdir()
        init_db_dir(store, 1)
    recovery = RecoveryConfig(store)
    cluster_main(flow(address, source, target), [], 0, epoch_interval=timedelta(seconds=1), recovery_config=recovery)


if __name__ == "__main__":
    main(*sys.argv[1:])
