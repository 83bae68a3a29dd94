"""DescribeLogDirs (key 35), versions 1 to 5, flexible from 2: the log directories of a broker, with the sizes of
their partitions.

Null topics ask for all of them. Versions: 3 an error for the whole answer; 4 sizes of the volume; 5 cordoned.
"""

from barnabas.protocol.codec.schema import BOOL, INT16, INT32, INT64, STRING, Request, Response, Struct, array, field


class DescribableLogDirTopic(Struct):
    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class DescribeLogDirsRequest(Request, key=35, versions="1-5", flexible="2+"):
    topics: list[DescribableLogDirTopic] | None = field(array(DescribableLogDirTopic), nullable="0+")


class DescribeLogDirsPartition(Struct):
    partition_index: int = field(INT32)
    partition_size: int = field(INT64)
    offset_lag: int = field(INT64)
    is_future_key: bool = field(BOOL)


class DescribeLogDirsTopic(Struct):
    name: str = field(STRING)
    partitions: list[DescribeLogDirsPartition] = field(array(DescribeLogDirsPartition))


class DescribeLogDirsResult(Struct):
    error_code: int = field(INT16)
    log_dir: str = field(STRING)
    topics: list[DescribeLogDirsTopic] = field(array(DescribeLogDirsTopic))
    total_bytes: int = field(INT64, versions="4+", default=-1, ignorable=True)
    usable_bytes: int = field(INT64, versions="4+", default=-1, ignorable=True)
    is_cordoned: bool = field(BOOL, versions="5+", default=False, ignorable=True)


class DescribeLogDirsResponse(Response, key=35, versions="1-5", flexible="2+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16, versions="3+", default=0, ignorable=True)
    results: list[DescribeLogDirsResult] = field(array(DescribeLogDirsResult))
