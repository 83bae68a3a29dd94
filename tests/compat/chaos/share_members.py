"""Members of a share group that tell a `ShareLedger` what they see: each leaves, is killed, or stalls.

A stalled member has records, and neither acknowledges them nor sends heartbeats until other members have finished
them, or until another holds one of them. Its acknowledgements come then, and must be refused.
"""

import random
import threading
from collections.abc import Sequence

from barnabas.client.client import Client
from barnabas.client.consume.share.held_records import AcquiredRecord
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode
from tests.compat.chaos.share_ledger import Delivery, RecordId, ShareLedger
from tests.support.waiting import PATIENCE_S, until

_POLL_MS = 200
_MAX_RECORDS = 20
_SURELY_REFUSED = frozenset(
    {ErrorCode.INVALID_RECORD_STATE, ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH}
)
_TAKEN = 0.5  # how many of the stalls end when another member holds the records
_KINDS = (*[AcknowledgeType.ACCEPT] * 8, AcknowledgeType.REJECT, AcknowledgeType.RELEASE)


class ShareChaosMember:
    """One member's life, in a thread, with our own client; `owner` names it in the ledger.

    Of ten records it accepts eight, rejects one and releases one, on average.
    """

    def __init__(self, address: str, topic: str, owner: str, ledger: ShareLedger, seed: int) -> None:
        """Start it. The group is named after the topic."""
        self.owner, self.ledger = owner, ledger
        self._address, self._topic = address, topic
        self._dice = random.Random(seed)
        self._is_killed = False
        self._stopping, self._stalling = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Release what it holds, and leave the group."""
        self._stopping.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), f"{self.owner} does not end"

    def kill(self) -> None:
        """End with records that it never acknowledges: the broker sees lost connections only."""
        self._is_killed = True
        self.leave()

    def stall(self) -> None:
        """Let the next records lie until other members have finished them, or hold one of them."""
        self._stalling.set()

    @property
    def is_stalled(self) -> bool:
        """Whether it lets records lie, or will do so with the next ones."""
        return self._stalling.is_set()

    def _run(self) -> None:
        try:
            with Client(self._address, timeout_ms=60_000) as client:
                self._live(client)
        except Exception as error:
            self.ledger.broken.append(f"{self.owner} ended with {error!r}")
            raise

    def _live(self, client: Client) -> None:
        member = ShareConsumer(client, self._topic, [self._topic], explicit=True)
        while not self._stopping.is_set():
            self._work(member, self._poll(member))
        if self._is_killed:
            self._poll(member)  # records that it never acknowledges
        else:
            member.close()

    def _poll(self, member: ShareConsumer) -> Sequence[AcquiredRecord]:
        finished_before = self.ledger.finished()
        records = member.poll(_POLL_MS, _MAX_RECORDS)
        self.ledger.delivered(
            self.owner, [Delivery(_id(each), each.delivery_count) for each in records], finished_before
        )
        return records

    def _work(self, member: ShareConsumer, records: Sequence[AcquiredRecord]) -> None:
        if not records:
            return
        ids = {_id(each) for each in records}
        stalls = self._stalling.is_set()
        if stalls:
            self._wait_for_others(ids)
        else:
            until(lambda: not self.ledger.is_awaited(ids), PATIENCE_S)
        self._acknowledge(member, records)
        if stalls:
            self.ledger.await_taker(())
            self._stalling.clear()

    def _acknowledge(self, member: ShareConsumer, records: Sequence[AcquiredRecord]) -> None:
        ended = set()
        for record in records:
            kind = self._dice.choice(_KINDS)
            member.acknowledge(record, kind)
            if kind is not AcknowledgeType.RELEASE:
                ended.add(_id(record))
        self.ledger.sends(ended)
        refused = {partition: error.code for (_, partition), error in member.commit().items()}
        self.ledger.confirmed(self.owner, (each for each in ended if each[0] not in refused))
        for partition, code in refused.items():
            self.ledger.refused(self.owner, (each for each in ended if each[0] == partition), code.name)
        unsure = {partition for partition, code in refused.items() if code not in _SURELY_REFUSED}
        self.ledger.doubted(each for each in ended if each[0] in unsure)

    def _wait_for_others(self, records: set[RecordId]) -> None:
        if self._dice.random() < _TAKEN:
            self.ledger.await_taker(records)
            until(lambda: self.ledger.is_taken(self.owner, records) or self._stopping.is_set(), PATIENCE_S)
        else:
            until(lambda: self.ledger.has_ended(records) or self._stopping.is_set(), PATIENCE_S)


def _id(record: AcquiredRecord) -> RecordId:
    return record.partition, record.record.offset
