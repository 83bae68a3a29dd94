"""A transactional program that outlives its broker: every request that got no answer is sent again to the next run.

It knows the answers and the broker's resulting duties, and checks after every restart and at the end
whether what readers see can be: a transaction whole or absent, nothing that was acknowledged lost, epochs that only
rise. Speaks both protocols of KIP-890: partitions added by requests of their own (1), or by writing to them (2).
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.protocol.messages.create_topics import CreatableTopic
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.record import iter_records
from tests.support.clients.answers import code_of_add, code_of_offsets, taken_batches
from tests.support.files.memory_files import PowerCut

E = ErrorCode
TIMEOUT_MS = 600_000
_AGAIN = frozenset(
    {
        E.NOT_LEADER_OR_FOLLOWER,
        E.CONCURRENT_TRANSACTIONS,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_COORDINATOR,
    }
)
_BACKOFF_MS = 50
_DEATHS = (PowerCut, ConnectionError)
_WRITTEN = frozenset({E.NONE, E.DUPLICATE_SEQUENCE_NUMBER})


class Mortal(Protocol):
    """A broker that may die. Calls raise PowerCut or ConnectionError when it did."""

    async def ask(self, request: Request, version: int) -> Any:
        """The answer to a request."""

    async def advance(self, delay_ms: float) -> None:
        """Let time pass."""

    async def boot(self) -> None:
        """The next run is there when this returns."""

    def now_ms(self) -> int: ...


class Fate(Enum):
    """What the program knows of a transaction."""

    OPEN = "its end was not requested"
    COMMITTING = "its commit was requested and not answered"
    COMMITTED = "its commit was answered"
    ABORTED = "its abort was requested, or it can no longer be committed"


@dataclass
class Transaction:
    """One transaction of the program: what it wrote where, and what became of it."""

    values: dict[int, list[bytes]] = field(default_factory=dict)
    offset: int | None = None
    fate: Fate = Fate.OPEN


class TransactionProgram:
    """A producer and a reader, over the deaths of their broker; no other client writes to `topics` or uses its name.

    That they are its own is what `check` relies on: behind another program's open transaction, which holds the last
    stable offset, a committed transaction is not seen yet.
    """

    def __init__(self, broker: Mortal, protocol: int, partitions: int, name: str = "tx") -> None:
        self.broker = broker
        self.transactions: list[Transaction] = []
        self._protocol = protocol
        self._name = name
        self._out, self._in = f"{name}-out", f"{name}-in"
        self._partitions = range(partitions)
        self._acknowledged: dict[int, list[bytes]] = {number: [] for number in self._partitions}
        self._producer_id = self._producer_epoch = -1
        self._highest: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        self._added: set[int] = set()

    @property
    def topics(self) -> list[CreatableTopic]:
        """What must be there before it begins: the topic it writes to, and the topic of its offsets."""
        return [
            CreatableTopic(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
            for name, count in ((self._out, len(self._partitions)), (self._in, 1))
        ]

    @property
    def current(self) -> Transaction:
        return self.transactions[-1]

    # --- what it does ---

    async def init(self) -> None:
        """Become the producer of the id; what was open can no longer be committed."""
        if self.transactions and self.current.fate is Fate.OPEN:
            self.current.fate = Fate.ABORTED
        request = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=TIMEOUT_MS)
        answer = await self._call(request, 5)
        assert answer.error_code == E.NONE, answer
        self._go_on_as(answer)

    def begin(self) -> None:
        self.transactions.append(Transaction())
        self._added.clear()

    async def send(self, *partitions: int) -> None:
        """One record to each of the partitions, in one request."""
        if self._protocol == 1:
            await self._add({*partitions} - self._added)
        values = {}
        for partition in partitions:
            count = len(self._acknowledged[partition])
            values[partition] = b"%s:%d:%d:%d" % (self._name.encode(), len(self.transactions), partition, count)
            self.current.values.setdefault(partition, []).append(values[partition])
        data = [
            PartitionProduceData(index=partition, records=self._batch(partition, value))
            for partition, value in values.items()
        ]
        request = ProduceRequest(
            transactional_id=self._name,
            acks=-1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=self._out, partition_data=data)],
        )
        answer = await self._call(request, 12 if self._protocol == 2 else 11, _code_of_produce)
        assert _code_of_produce(answer) == E.NONE, answer
        for partition, value in values.items():
            self._acknowledged[partition].append(value)
            self._sequences[partition] = self._sequences.get(partition, 0) + 1

    def _batch(self, partition: int, value: bytes) -> bytes:
        return bytes(
            build_batch(
                [(None, value, (), self.broker.now_ms())],
                producer_id=self._producer_id,
                producer_epoch=self._producer_epoch,
                base_sequence=self._sequences.get(partition, 0),
                transactional=True,
            )
        )

    async def _add(self, partitions: set[int]) -> None:
        if not partitions:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self._out, partitions=sorted(partitions))],
        )
        answer = await self._call(request, 3, code_of_add)
        assert code_of_add(answer) == E.NONE, answer
        self._added |= partitions

    async def send_offset(self, offset: int) -> None:
        """Commit the group's offset as part of the transaction."""
        if self._protocol == 1:
            adding = AddOffsetsToTxnRequest(
                transactional_id=self._name,
                producer_id=self._producer_id,
                producer_epoch=self._producer_epoch,
                group_id=self._name,
            )
            answer = await self._call(adding, 3)
            assert answer.error_code == E.NONE, answer
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=None)
        request = TxnOffsetCommitRequest(
            transactional_id=self._name,
            group_id=self._name,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(name=self._in, partitions=[partition])],
        )
        answer = await self._call(request, 5 if self._protocol == 2 else 4, code_of_offsets)
        assert code_of_offsets(answer) == E.NONE, answer
        self.current.offset = offset

    async def end(self, *, commit: bool) -> None:
        self.current.fate = Fate.COMMITTING if commit else Fate.ABORTED
        answer = await self._end(commit=commit)
        assert answer.error_code == E.NONE, answer
        if commit:
            self.current.fate = Fate.COMMITTED
        if self._protocol == 2:
            self._go_on_as(answer)

    async def _end(self, *, commit: bool) -> Any:
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=commit,
        )
        return await self._call(request, 5 if self._protocol == 2 else 4)

    def _go_on_as(self, answer: Any) -> None:
        assert answer.producer_epoch > self._highest.get(answer.producer_id, -1), "an epoch went back"
        self._highest[answer.producer_id] = answer.producer_epoch
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    # --- over the broker's deaths ---

    async def _call(self, request: Request, version: int, code_of: Any = None) -> Any:
        """The answer that is not "try again": from this run of the broker, or from the next."""
        while True:
            try:
                answer = await self.broker.ask(request, version)
            except _DEATHS:
                await self._survive()
                continue
            if (code_of or _top_code)(answer) not in _AGAIN:
                return answer
            await self._wait(_BACKOFF_MS)

    async def _wait(self, delay_ms: int) -> None:
        try:
            await self.broker.advance(delay_ms)
        except _DEATHS:
            await self._survive()
            await self._wait(delay_ms)

    async def _survive(self) -> None:
        await self.broker.boot()
        await self.check()

    # --- what readers see ---

    async def check(self) -> None:
        """AssertionError unless everything readers see can be."""
        committed, everything = await self._read(isolation_level=1), await self._read(isolation_level=0)
        for partition, acknowledged in self._acknowledged.items():
            lost = set(acknowledged) - set(everything[partition])
            assert not lost, f"acknowledged and lost from partition {partition}: {lost}"
            assert len(set(committed[partition])) == len(committed[partition]), "something is there twice"
        offset = None
        for transaction in self.transactions:
            if self._is_visible(transaction, committed) and transaction.offset is not None:
                offset = transaction.offset
        assert await self._committed_offset() == offset

    def _is_visible(self, transaction: Transaction, committed: dict[int, list[bytes]]) -> bool:
        found = {value in committed[partition] for partition, values in transaction.values.items() for value in values}
        assert len(found) <= 1, f"a part of a transaction is seen: {transaction}, {committed}"
        is_visible = found == {True}
        if transaction.fate is not Fate.COMMITTING:
            assert is_visible == (transaction.fate is Fate.COMMITTED), f"{transaction}, {committed}"
        return is_visible

    async def check_nothing_hangs(self) -> None:
        """The last stable offset is the high watermark everywhere."""
        for fetched in await self._fetch(isolation_level=1):
            assert fetched.last_stable_offset == fetched.high_watermark

    async def _fetch(self, *, isolation_level: int) -> list[Any]:
        partitions = [
            FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
            for partition in self._partitions
        ]
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 30,
            isolation_level=isolation_level,
            topics=[FetchTopic(topic=self._out, partitions=partitions)],
        )
        fetched: list[Any] = (await self._call(request, 12, _code_of_fetch)).responses[0].partitions
        assert {partition.error_code for partition in fetched} == {E.NONE}
        return fetched

    async def _read(self, *, isolation_level: int) -> dict[int, list[bytes]]:
        """The values a consumer of this isolation level returns, by partition, from one Fetch over all of them."""
        fetched = await self._fetch(isolation_level=isolation_level)
        return {partition.partition_index: _values(partition) for partition in fetched}

    async def _committed_offset(self) -> int | None:
        topics = [OffsetFetchRequestTopics(name=self._in, partition_indexes=[0])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self._name, topics=topics)])
        group = (await self._call(request, 9, lambda answer: answer.groups[0].error_code)).groups[0]
        offset: int = group.topics[0].partitions[0].committed_offset
        return None if offset < 0 else offset


def _values(fetched: Any) -> list[bytes]:
    """The values in the data of a partition that are not those of its aborted transactions."""
    batches = (batch for _, batch in taken_batches(fetched) if batch is not None)
    return [record.value or b"" for batch in batches for record in iter_records(batch)]


def _top_code(answer: Any) -> int:
    return int(getattr(answer, "error_code", E.NONE))


def _code_of_fetch(answer: Any) -> int:
    """NOT_LEADER_OR_FOLLOWER while one of them is being recovered."""
    return next((part.error_code for topic in answer.responses for part in topic.partitions if part.error_code), E.NONE)


def _code_of_produce(answer: Any) -> int:
    """The first code of a record that is not in the log."""
    codes = (partition.error_code for partition in answer.responses[0].partition_responses)
    return int(next((code for code in codes if code not in _WRITTEN), E.NONE))
