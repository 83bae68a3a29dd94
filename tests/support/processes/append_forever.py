"""A process that appends to a partition until it is killed, saying of each batch that it is there.

    python -m tests.support.processes.append_forever DATA_DIR

Batch n holds the value n and has producer id 7 and sequence n; it continues where the log ends. Small segments,
and a flush and a checkpoint now and then, so that a kill finds it anywhere. Lines on stdout: `opened N`, then each n.
"""

import os
import sys
import time

from barnabas.protocol.records.builder import build_batch
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles

CONFIG = LogConfig(segment_bytes=20_000, index_interval_bytes=300)
PRODUCER_ID = 7


def main(data_dir: str) -> None:
    directory = LogDirectory.open(data_dir, RealFiles(), node_id=1, new_id=lambda: os.urandom(16))
    now_ms = time.time_ns() // 1_000_000
    log = directory.open_log("t", 0, bytes(range(16)), CONFIG, now_ms)
    number = log.log_end_offset
    print("opened", number, flush=True)
    while True:
        batch = build_batch(
            [(None, b"%d" % number, (), now_ms)], producer_id=PRODUCER_ID, producer_epoch=0, base_sequence=number
        )
        log.append(batch, leader_epoch=0, now_ms=now_ms)
        print(number, flush=True)
        number += 1
        if number % 97 == 0 and (plan := log.begin_flush()) is not None:
            plan.run()
            log.end_flush(plan)
        if number % 211 == 0 and (job := directory.begin_checkpoint()) is not None:
            job.run()
            directory.end_checkpoint(job)


if __name__ == "__main__":
    main(sys.argv[1])
