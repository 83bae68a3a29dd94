"""The records that a snapshot repeats unchanged: users, ACLs, delegation tokens, registered controllers.

They stay in the log as they are, and a snapshot repeats them byte for byte: the last record of each existing item, and
none of the removed items. Kafka's own snapshots are the same. A record that only changes the state of the image, or has
no content, is not part of a snapshot: Apache Kafka does not start from one with a ClearElrRecord.

A part of the broker that uses such records reads them from here (`of_kind`), if the broker has that part: without an
authorizer ACLs are carried, and never decoded. The image has what it needs of the users.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from barnabas.broker.metadata.image.image import ReplayError
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import catalogue as records


class UnchangedRecords:
    """The existing items, each with its record's bytes, in the order in which they were first added."""

    def __init__(self) -> None:
        self._values: dict[Hashable, bytes] = {}

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._values.values())

    def replay(self, record: Stored, value: bytes) -> None:
        """Apply one more record with its bytes. Types that are not carried change nothing."""
        put, taken_back = _PUT.get(type(record)), _TAKEN_BACK.get(type(record))
        if put is not None:
            self._values[put(record)] = value
        elif taken_back is not None:
            self._values.pop(taken_back(record), None)

    def of_kind(self, kind: str) -> Iterator[bytes]:
        """Return the records' bytes of all items of a kind: user, quota, rule, token."""
        return (value for each, value in self._values.items() if isinstance(each, tuple) and each[0] == kind)

    def count(self, kind: str) -> int:
        """Return the number of items of a kind."""
        return sum(1 for _ in self.of_kind(kind))

    def check_controllers(self, node_id: int) -> None:
        """Raise ReplayError if another node than this one is registered as a controller."""
        for each in self._values:
            if isinstance(each, tuple) and each[0] == "controller" and each[1] != node_id:
                raise ReplayError(f"controller {each[1]} is registered in the log of node {node_id}")


_PUT: dict[type[Stored], Callable[[Any], Hashable]] = {
    records.UserScramCredentialRecord: lambda record: ("user", record.name, record.mechanism),
    records.AccessControlEntryRecord: lambda record: ("rule", record.id),
    records.DelegationTokenRecord: lambda record: ("token", record.token_id),
    records.RegisterControllerRecord: lambda record: ("controller", record.controller_id),
}
_TAKEN_BACK: dict[type[Stored], Callable[[Any], Hashable]] = {
    records.RemoveUserScramCredentialRecord: lambda record: ("user", record.name, record.mechanism),
    records.RemoveAccessControlEntryRecord: lambda record: ("rule", record.id),
    records.RemoveDelegationTokenRecord: lambda record: ("token", record.token_id),
    records.UnregisterControllerRecord: lambda record: ("controller", record.controller_id),
}
