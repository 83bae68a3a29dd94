"""A scripted broker that coordinates one group and has an endless supply of records. What a group protocol asks beside
that is a subclass's affair.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import offset_commit, offset_fetch
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import Answer, ScriptedBroker

TOPIC = "t"


class GroupBroker(ScriptedBroker):
    """The coordinator of group "g"; each partition of topic t has records "0", "1", "2" … at these offsets.

    `errors` are answered first, one to each request of its API; HANG_UP may be one.
    """

    def __init__(self, partitions: int, errors: Mapping[str, Sequence[ErrorCode]]) -> None:
        self._errors = {ApiKey[name]: list(codes) for name, codes in errors.items()}
        self.offsets: dict[int, int] = {}
        """What is committed, by partition."""
        self.unstable: set[int] = set()
        """For which partitions a transaction is about to commit."""
        script: dict[ApiKey, Callable[[Any], Answer]] = {
            ApiKey.FIND_COORDINATOR: self._find,
            ApiKey.OFFSET_COMMIT: self._commit,
            ApiKey.OFFSET_FETCH: self._fetch_offsets,
            ApiKey.FETCH: self._fetch,
        }
        super().__init__(script, {TOPIC: partitions})

    def recover(self) -> None:
        """Answer no errors any more."""
        self._errors.clear()

    def fail(self, api: ApiKey, *codes: ErrorCode) -> None:
        """Let the next requests of this API fail so, one after the other."""
        self._errors.setdefault(api, []).extend(codes)

    def _error(self, api: ApiKey) -> int:
        waiting = self._errors.get(api)
        return waiting.pop(0) if waiting else ErrorCode.NONE

    def _find(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        error = self._error(ApiKey.FIND_COORDINATOR)
        found = Coordinator(key="g", node_id=1, host="127.0.0.1", port=self.port, error_code=error, error_message=None)
        return FindCoordinatorResponse(coordinators=[found])

    def _commit(self, request: offset_commit.OffsetCommitRequest) -> offset_commit.OffsetCommitResponse:
        error = self._error(ApiKey.OFFSET_COMMIT)
        partitions = request.topics[0].partitions
        if not error:
            self.offsets |= {each.partition_index: each.committed_offset for each in partitions}
        answers = [
            offset_commit.OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
            for each in partitions
        ]
        return offset_commit.OffsetCommitResponse(
            topics=[offset_commit.OffsetCommitResponseTopic(name=TOPIC, partitions=answers)]
        )

    def _fetch_offsets(self, request: offset_fetch.OffsetFetchRequest) -> offset_fetch.OffsetFetchResponse:
        error = self._error(ApiKey.OFFSET_FETCH)

        def fields(partition: int) -> dict[str, Any]:
            code = ErrorCode.UNSTABLE_OFFSET_COMMIT if partition in self.unstable else error
            offset = -1 if code else self.offsets.get(partition, -1)
            return {"partition_index": partition, "committed_offset": offset, "metadata": "", "error_code": code}

        if request.groups:
            partitions = (request.groups[0].topics or [])[0].partition_indexes
            listed = [offset_fetch.OffsetFetchResponsePartitions(**fields(partition)) for partition in partitions]
            topics = [offset_fetch.OffsetFetchResponseTopics(name=TOPIC, partitions=listed)]
            return offset_fetch.OffsetFetchResponse(
                groups=[offset_fetch.OffsetFetchResponseGroup(group_id="g", topics=topics)]
            )
        single = [
            offset_fetch.OffsetFetchResponsePartition(**fields(each))
            for each in (request.topics or [])[0].partition_indexes
        ]
        return offset_fetch.OffsetFetchResponse(
            topics=[offset_fetch.OffsetFetchResponseTopic(name=TOPIC, partitions=single)]
        )

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        error = self._error(ApiKey.FETCH)
        answers = [
            PartitionData(
                partition_index=each.partition,
                error_code=error,
                high_watermark=1 << 40,
                aborted_transactions=None,
                records=build_batch([NewRecord(None, b"%d" % each.fetch_offset, (), 0)], base_offset=each.fetch_offset),
            )
            for each in request.topics[0].partitions
        ]
        return FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=answers)])
