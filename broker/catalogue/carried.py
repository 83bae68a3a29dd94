"""What the catalogue says that no image holds: users, quotas, access rules, delegation tokens, registered controllers.

Nothing of it has an effect here. It stays in the log as it is, and a snapshot repeats it byte for byte: the last record
of each thing that is there, and none of what was taken back. Kafka's own snapshots are the same. A record that only
changes what the image holds, or says nothing, is no part of a snapshot: Apache Kafka does not start from one with a
ClearElrRecord.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from barnabas.broker.catalogue.image import ReplayError
from barnabas.protocol.log_records import catalogue as records
from barnabas.protocol.schema import Stored


class Carried:
    """The things that are there now, each with its record's bytes, in the order in which they first came."""

    def __init__(self) -> None:
        self._values: dict[Hashable, bytes] = {}

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._values.values())

    def replay(self, record: Stored, value: bytes) -> None:
        """One more record, and its bytes. Whatever is of no kind that is carried changes nothing."""
        put, taken_back = _PUT.get(type(record)), _TAKEN_BACK.get(type(record))
        if put is not None:
            self._values[put(record)] = value
        elif taken_back is not None:
            self._values.pop(taken_back(record), None)
        elif isinstance(record, records.ClientQuotaRecord):
            self._quota(record, value)

    def _quota(self, record: records.ClientQuotaRecord, value: bytes) -> None:
        entity = frozenset((part.entity_type, part.entity_name) for part in record.entity)
        limit = "quota", entity, record.key
        if record.remove:
            self._values.pop(limit, None)
        else:
            self._values[limit] = value

    def count(self, kind: str) -> int:
        """How many things of a kind there are: user, quota, rule, token."""
        return sum(isinstance(each, tuple) and each[0] == kind for each in self._values)

    def check_controllers(self, node_id: int) -> None:
        """ReplayError if another node than this one is registered as a controller."""
        for each in self._values:
            if isinstance(each, tuple) and each[0] == "controller" and each[1] != node_id:
                raise ReplayError(f"controller {each[1]} is registered beside node {node_id}")


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
