"""AddPartitionsToTxn (key 24), versions 0 to 5, flexible from 3: add partitions to a transaction.

Up to version 3 a client's request for one transaction, in the fields named `v3_and_below_…`. From version 4 on brokers
ask for many transactions at once, also only to verify that a partition is in one; clients of version 5 no longer need
it, since producing adds the partition (KIP-890).
"""

from barnabas.protocol.codec.schema import BOOL, INT16, INT32, INT64, STRING, Request, Response, Struct, array, field


class AddPartitionsToTxnTopic(Struct):
    name: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    verify_only: bool = field(BOOL, default=False)  # only ask whether the partitions are in the transaction
    topics: list[AddPartitionsToTxnTopic] = field(array(AddPartitionsToTxnTopic))


class AddPartitionsToTxnRequest(Request, key=24, versions="0-5", flexible="3+"):
    transactions: list[AddPartitionsToTxnTransaction] = field(
        array(AddPartitionsToTxnTransaction), versions="4+", default=[]
    )
    v3_and_below_transactional_id: str = field(STRING, versions="0-3", default="")
    v3_and_below_producer_id: int = field(INT64, versions="0-3", default=0)
    v3_and_below_producer_epoch: int = field(INT16, versions="0-3", default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(
        array(AddPartitionsToTxnTopic), versions="0-3", default=[]
    )


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = field(INT32)
    partition_error_code: int = field(INT16)


class AddPartitionsToTxnTopicResult(Struct):
    name: str = field(STRING)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(array(AddPartitionsToTxnPartitionResult))


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = field(STRING)
    topic_results: list[AddPartitionsToTxnTopicResult] = field(array(AddPartitionsToTxnTopicResult))


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16, versions="4+", default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(
        array(AddPartitionsToTxnResult), versions="4+", default=[]
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(
        array(AddPartitionsToTxnTopicResult), versions="0-3", default=[]
    )
