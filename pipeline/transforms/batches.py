"""The number of rows of each batch in the topics, and their digest: the ledger's figures, recomputed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_PARTIAL = "batch_id BIGINT, rows BIGINT, high BIGINT, low BIGINT"
_LOW_BITS = 32


def sums(rows: DataFrame) -> DataFrame:
    """Return batch_id, rows, high, low: a batch's digest is (high · 2^32 + low) modulo 2^64, and no half overflows.

    rows: topic, key, value, headers and batch_id.
    """
    partial = rows.select("topic", "key", "value", "headers", "batch_id").mapInArrow(_partial_sums, _PARTIAL)
    return partial.groupBy("batch_id").agg(*(F.sum(name).alias(name) for name in ("rows", "high", "low")))


def digest_of(high: int, low: int) -> int:
    """Return a digest from its summed halves."""
    return ((high << _LOW_BITS) + low) % (1 << 64)


def _partial_sums(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield, in a task, what each of the sink's batches adds in each Arrow batch."""
    import numpy as np
    import pyarrow as pa

    from pyspark_barnabas.rows import digest, encoded_columns

    for found in batches:
        if not found.num_rows:
            continue
        arrays = {name: found.column(name) for name in ("topic", "key", "value", "headers", "batch_id")}
        tails = encoded_columns.tails(
            encoded_columns.as_binary(arrays["key"]),
            encoded_columns.as_binary(arrays["value"]),
            encoded_columns.read_headers(arrays["headers"]),
        )
        topics = arrays["topic"].dictionary_encode()
        seeds = np.array([digest.seed(each) for each in topics.dictionary.to_pylist()], np.uint64)
        hashes = digest.row_hashes(tails, seeds[topics.indices.to_numpy(zero_copy_only=False)])
        ids, places, counts = np.unique(
            arrays["batch_id"].fill_null(-1).to_numpy(zero_copy_only=False), return_inverse=True, return_counts=True
        )
        totals = np.zeros(len(ids), np.uint64)
        np.add.at(totals, places, hashes)
        high, low = totals >> np.uint64(_LOW_BITS), totals & np.uint64((1 << _LOW_BITS) - 1)
        yield pa.RecordBatch.from_arrays(
            [pa.array(each.astype(np.int64), pa.int64()) for each in (ids, counts, high, low)],
            names=["batch_id", "rows", "high", "low"],
        )
