"""A scripted broker with one transactional id, which fails as a test wants."""

from collections.abc import Callable, Iterator
from typing import Any

from barnabas.protocol.codec.schema import Request, Response
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from barnabas.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from barnabas.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from barnabas.protocol.records.batch import BatchHeader, parse_header
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.answers import accepted
from tests.support.scripted.broker import NODE_ID, Answer, ScriptedBroker

NAMES = {
    InitProducerIdRequest: "init",
    AddPartitionsToTxnRequest: "add",
    AddOffsetsToTxnRequest: "add-offsets",
    TxnOffsetCommitRequest: "offsets",
    EndTxnRequest: "end",
    ProduceRequest: "produce",
}


class ScriptedCoordinator(ScriptedBroker):
    """Keeps one transactional id: 7 with epochs that rise. `fail(api, code, …)` answers the next requests so."""

    def __init__(self, transaction_version: int) -> None:
        super().__init__(topics={"t": 3})
        self.transaction_version = transaction_version
        self.producer_epoch = -1
        self._failures: dict[ApiKey, list[ErrorCode | Answer]] = {}
        self.script = {
            ApiKey.API_VERSIONS: self._versions,
            ApiKey.FIND_COORDINATOR: self._find,
            ApiKey.INIT_PRODUCER_ID: self._answering(ApiKey.INIT_PRODUCER_ID, self._init),
            ApiKey.ADD_PARTITIONS_TO_TXN: self._answering(ApiKey.ADD_PARTITIONS_TO_TXN, self._add),
            ApiKey.ADD_OFFSETS_TO_TXN: self._answering(
                ApiKey.ADD_OFFSETS_TO_TXN, lambda request, code: AddOffsetsToTxnResponse(error_code=code)
            ),
            ApiKey.TXN_OFFSET_COMMIT: self._answering(ApiKey.TXN_OFFSET_COMMIT, self._offsets),
            ApiKey.END_TXN: self._answering(ApiKey.END_TXN, self._end),
            ApiKey.PRODUCE: self._answering(ApiKey.PRODUCE, accepted),
        }

    def fail(self, api: ApiKey, *codes: ErrorCode | Answer) -> None:
        """Let the next requests of this API fail so, one after the other."""
        self._failures.setdefault(api, []).extend(codes)

    def recover(self) -> None:
        """Let nothing fail any more."""
        self._failures.clear()

    def story(self) -> list[str]:
        """The requests, in short, with the version, without FindCoordinator."""
        return [f"{NAMES[type(request)]}-v{version}" for version, request in self.requests if type(request) in NAMES]

    def batches(self) -> Iterator[BatchHeader]:
        for request in self.of(ProduceRequest):
            for topic in request.topic_data:
                for data in topic.partition_data:
                    yield parse_header(data.records)

    def _answering(self, api: ApiKey, answer: Callable[[Any, ErrorCode], Response]) -> Callable[[Any], Answer]:
        def respond(request: Request) -> Answer:
            failures = self._failures.get(api)
            next_one = failures.pop(0) if failures else ErrorCode.NONE
            return answer(request, next_one) if isinstance(next_one, ErrorCode) else next_one

        return respond

    def _versions(self, request: ApiVersionsRequest) -> ApiVersionsResponse:
        level = self.transaction_version
        features = [FinalizedFeatureKey(name="transaction.version", min_version_level=level, max_version_level=level)]
        return ApiVersionsResponse(
            error_code=0,
            api_keys=[
                ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.offered.items()
            ],
            finalized_features_epoch=1,
            finalized_features=features if level else [],
        )

    def _find(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(
                    key=key, node_id=NODE_ID, host="127.0.0.1", port=self.port, error_code=0, error_message=None
                )
                for key in request.coordinator_keys
            ]
        )

    def _init(self, request: InitProducerIdRequest, code: ErrorCode) -> InitProducerIdResponse:
        if code:
            return InitProducerIdResponse(error_code=code, producer_epoch=-1)
        self.producer_epoch += 1
        return InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=self.producer_epoch)

    def _add(self, request: AddPartitionsToTxnRequest, code: ErrorCode) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
                        for number in topic.partitions
                    ],
                )
                for topic in request.v3_and_below_topics
            ]
        )

    def _offsets(self, request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
        return TxnOffsetCommitResponse(
            topics=[
                TxnOffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _end(self, request: EndTxnRequest, code: ErrorCode) -> EndTxnResponse:
        if code:
            return EndTxnResponse(error_code=code)
        self.producer_epoch = request.producer_epoch + 1
        return EndTxnResponse(error_code=0, producer_id=7, producer_epoch=self.producer_epoch)
