# compiled: mypyc
"""One request of a share session: its member checked, its acknowledgements applied, its partitions authorized.

Invariant: what is wrong with one partition is the error of that partition; only what is wrong with the session, the
group or the request as a whole is raised. Of a request with many partitions, a turn of the event loop takes a few.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.partitions.share.acknowledgements import AcknowledgedBatch, checked_batches
from barnabas.broker.partitions.share.share_partition_manager import SharePartitionManager, session_key
from barnabas.broker.partitions.share.share_sessions import SessionPartition
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import mapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from barnabas.broker.partitions.share.share_sessions import ShareSession
    from barnabas.broker.services import RequestContext
    from barnabas.protocol.messages import share_acknowledge, share_fetch

    RequestedBatches = Sequence[share_fetch.AcknowledgementBatch] | Sequence[share_acknowledge.AcknowledgementBatch]

    Outcome = Reply[KafkaError | None]
    """The refusal of one partition's acknowledgements, None for none, once they are stored."""

R = TypeVar("R")

_ACKNOWLEDGING = WorkClass(under_way_max=1_000, may_begin_again=False)
"""The acknowledgements of one request, which is in memory anyway."""


class ShareRequest:
    """The member of one request, and what it may do."""

    def __init__(
        self, group_id: str | None, member_id: str | None, context: RequestContext, *, is_renew_ack: bool
    ) -> None:
        """Check the request as a whole. Raises KafkaError."""
        if not context.services.offers_share_groups:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        self.key = session_key(group_id, member_id)
        self._rights = context.rights
        if self._rights is not None and not self._rights.allows(Operation.READ, Resource.GROUP, self.key.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        self._is_renew_ack = is_renew_ack
        self.connection = None if context.connection is None else context.connection.session
        self.manager: SharePartitionManager = context.services.share_partitions
        self._slices = context.services.request_scheduler

    def refusal_of(self, wanted: SessionPartition) -> KafkaError | None:
        """Return why the partition may not be read, or None."""
        try:
            topic = self.manager.topic_of(*wanted)
        except KafkaError as error:
            return error.as_value()
        if self._rights is not None and not self._rights.allows(Operation.READ, Resource.TOPIC, topic):
            return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return None

    def acknowledge(
        self, session: ShareSession, requested: Mapping[SessionPartition, RequestedBatches]
    ) -> Reply[list[Outcome]]:
        """Apply acknowledgements, those of one partition together; return the outcomes in order.

        They are applied to the end, also for a client that leaves meanwhile.
        """
        if len(requested) <= 1:
            return [self._outcome(session, *each) for each in requested.items()]
        each_outcome = partial(mapped, lambda each: self._outcome(session, *each), requested.items(), at_once=1)
        return self._slices.to_the_end(each_outcome, _ACKNOWLEDGING)

    def end_after(self, session: ShareSession, response: Reply[R]) -> Reply[R]:
        """End the session with its last response, once that request's acknowledgements are stored; return the response.

        Only then what the member still holds is released and stored, with the start offset that they have moved.
        """
        return reply_to(lambda: response, partial(self._end, session))

    def _end(self, session: ShareSession, response: R) -> R:
        self.manager.sessions.end(session)
        return response

    def _outcome(self, session: ShareSession, wanted: SessionPartition, batches: RequestedBatches) -> Outcome:
        return reply_to(partial(self._acknowledge, session, wanted, batches), lambda _: None, KafkaError.as_value)

    def _acknowledge(self, session: ShareSession, wanted: SessionPartition, requested: RequestedBatches) -> Reply[None]:
        refusal = self.refusal_of(wanted)
        if refusal is not None:
            raise refusal
        batches = [AcknowledgedBatch(each.first_offset, each.last_offset, each.acknowledge_types) for each in requested]
        checked_batches(batches, may_renew=self._is_renew_ack)
        return self.manager.acknowledge(session, wanted, batches)
