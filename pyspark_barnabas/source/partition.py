"""The partition that Spark passes to a task."""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

from pyspark_barnabas.source.ranges import OffsetRange


class RangePartition(InputPartition):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """One range of offsets, in `value`."""

    value: OffsetRange
