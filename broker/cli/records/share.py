"""`barnabas consume --share GROUP`: records of a share group, acknowledged once they are printed."""

from __future__ import annotations

import argparse
import sys
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.client.consume.share.share_consumer import ShareConsumer
from barnabas.protocol.acknowledge_type import AcknowledgeType

if TYPE_CHECKING:
    from typing import Self

    from barnabas.client.client import Client
    from barnabas.client.consume.share.held_records import AcquiredRecord
    from barnabas.client.consume.share.leader_session import Failures

_TYPES = MappingProxyType(
    {"accept": AcknowledgeType.ACCEPT, "release": AcknowledgeType.RELEASE, "reject": AcknowledgeType.REJECT}
)
_DECIDED_BY_GROUP = MappingProxyType(
    {
        "--from-beginning": "share.auto.offset.reset=earliest",
        "--offset": "share.auto.offset.reset",
        "--isolation": "share.isolation.level",
    }
)
_REFUSED = ("--group", "--partition", "--regex", "--exit-at-end")


def add_share_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of share groups."""
    group.add_argument("--share", metavar="GROUP", help="as a member of a share group (KIP-932)")
    group.add_argument(
        "--acknowledge",
        choices=tuple(_TYPES),
        help="the acknowledgement of printed records, with --share; default accept",
    )


def check_share(options: argparse.Namespace) -> None:
    """Raise UsageError for options that contradict each other."""
    if options.share is None:
        for option in ("acknowledge", "print_delivery"):
            if getattr(options, option):
                raise UsageError(f"consume: --{option.replace('_', '-')} needs --share")
        return
    for option in (*_REFUSED, *_DECIDED_BY_GROUP):
        given = getattr(options, option.removeprefix("--").replace("-", "_"))
        if given is None or given is False:
            continue
        setting = _DECIDED_BY_GROUP.get(option)
        if setting is None:
            raise UsageError(f"consume: omit {option} with --share")
        raise UsageError(f"consume: omit {option} with --share: it is a setting of the group, {setting}")


class ShareSource:
    """A member of a share group that acknowledges records once its caller has printed them.

    Printed are the records of a poll when the next one begins, or at the end, unless by an error.
    """

    def __init__(self, client: Client, options: argparse.Namespace) -> None:
        self._type = _TYPES[options.acknowledge or "accept"]
        self._consumer = ShareConsumer(client, options.share, [options.topic], explicit=True)
        self._printed: list[AcquiredRecord] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._acknowledge()
        _warn(self._consumer.close())

    def poll(self, timeout_ms: int, max_records: int | None = None) -> list[AcquiredRecord]:
        """Return records, or none after the timeout."""
        self._acknowledge()
        self._printed = self._consumer.poll(timeout_ms, max_records)
        return self._printed

    def is_at_end(self) -> bool:
        """Return False: the end of a share group's partitions is not known."""
        return False

    def _acknowledge(self) -> None:
        for record in self._printed:
            self._consumer.acknowledge(record, self._type)
        self._printed = []
        _warn(self._consumer.commit())


def _warn(refused: Failures) -> None:
    """Print the partitions whose records may come again."""
    for (topic, partition), error in sorted(refused.items()):
        print(f"barnabas: {topic}-{partition}: records may be delivered again: {error}", file=sys.stderr)
