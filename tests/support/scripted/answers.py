"""Answers that scripted brokers give in several tests."""

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import produce


def accepted(
    request: produce.ProduceRequest, error: ErrorCode = ErrorCode.NONE, message: str | None = None
) -> produce.ProduceResponse:
    """Every partition answered alike; base offset 100."""
    return produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    produce.PartitionProduceResponse(
                        index=partition.index, error_code=error, base_offset=-1 if error else 100, error_message=message
                    )
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
