"""`audit`: check that the pipeline kept its guarantees, recomputed from all of its outputs.

    python -m pipeline.jobs.audit --bootstrap-servers 127.0.0.1:9092 --data-directory ./data --report verdict.json

It does not rely on the jobs: outputs are compared with the source, batches with the ledger, transactions with
the bytes of the logs, sums with the orders. The exit status is 0 if all is right, 1 if something is wrong, 2 if it
could not decide; the report lists the errors by topic, partition and offset.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from pipeline.auditing import Audit, AuditConfig
from pipeline.config import load
from pipeline.session import session
from pipeline.verdict import Check, as_json, as_text, dump, overall


def build(spark: SparkSession, config: AuditConfig) -> list[Check]:
    """Run all checks and return them."""
    return Audit(spark, config).checks()


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit, print the verdict and write the report. Return the exit status: 0 right, 1 wrong, 2 undecided."""
    given = sys.argv[1:] if arguments is None else arguments
    config = load(AuditConfig, "audit", given, os.environ, "Check that every order was counted exactly once.")
    if config.bootstrap_servers is None and config.data_directory is None:
        print("audit: give --bootstrap-servers, --data-directory or both: there is nothing to read", file=sys.stderr)
        return 2
    spark = session("audit", {"spark.sql.shuffle.partitions": str(config.shuffle_partitions)})
    try:
        checks = build(spark, config)
    finally:
        spark.stop()
    report = as_json(checks, {"bootstrap_servers": config.bootstrap_servers, "data_directory": config.data_directory})
    if config.report is not None:
        Path(config.report).write_text(dump(report))
    print(as_text(report))
    return overall(checks).value


if __name__ == "__main__":
    sys.exit(main())
