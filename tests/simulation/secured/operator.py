"""Who sets users, ACLs and quotas, takes them back, and looks at the end at what there is."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar

from barnabas.protocol.codec.schema import Struct
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages import alter_client_quotas, alter_user_scram_credentials
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from barnabas.protocol.security.scram import ITERATIONS_MIN, SCRAM_SHA_256
from tests.simulation.clients.errors import ADMIN_TRIES_AGAIN
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.secured.history import AclKey, Key, QuotaKey, SecurityHistory, Setting, UserKey, Value
from tests.simulation.secured.history import SecurityView as View
from tests.simulation.secured.login import hashed
from tests.simulation.world.world import World

ANY: Final = 1
IS_THERE: Final = 1.0
"""The value of an ACL."""
_BACKOFF_S: Final = 0.05
_LATE_US: Final = 5_000_000  # what has arrived is done, or never will be
_ALREADY_SO: Final = (E.NONE, E.RESOURCE_NOT_FOUND)
S = TypeVar("S", bound=Struct)


class SecurityOperator:
    """Sets one thing after the other, each until it is answered."""

    def __init__(self, world: World, wire: Wire, history: SecurityHistory, dice: random.Random) -> None:
        self._world, self._wire, self._history, self._dice = world, wire, history, dice

    async def set(self, key: Key, value: Value) -> None:
        """None takes it away. AssertionError where the broker will not."""
        send = {AclKey: self._set_acl, UserKey: self._set_user, QuotaKey: self._set_quota}[type(key)]
        while True:
            tried = self._history.begin(Setting(key, value, self._world.now_us))
            try:
                code = E(await send(key, value))  # type: ignore[operator]  # because each has its own kind of key
            except Disconnected:
                code = None
            if code in _ALREADY_SO:
                tried.ended_us = self._world.now_us
                return
            assert code is None or code in ADMIN_TRIES_AGAIN, f"{tried.line()}: {code}"
            tried.late_us = max(self._world.now_us, self._wire.arrives_us) + _LATE_US
            await asyncio.sleep(_BACKOFF_S * self._dice.uniform(0.5, 2))

    async def _set_acl(self, acl: AclKey, value: Value) -> int:
        if value is not None:
            request = CreateAclsRequest(creations=[_filled(AclCreation, acl)])
            return int((await self._wire.ask(request, 3)).results[0].error_code)
        wanted = DeleteAclsRequest(filters=[_filled(DeleteAclsFilter, acl)])
        result = (await self._wire.ask(wanted, 3)).filter_results[0]
        return next((each.error_code for each in result.matching_acls if each.error_code), int(result.error_code))

    async def _set_user(self, key: UserKey, value: Value) -> int:
        number = SCRAM_SHA_256.number
        request = alter_user_scram_credentials.AlterUserScramCredentialsRequest(deletions=[], upsertions=[])
        if value is None:
            request.deletions.append(
                alter_user_scram_credentials.ScramCredentialDeletion(name=key.user, mechanism=number)
            )
        else:
            salt = f"salt of {key.user}".encode()
            request.upsertions.append(
                alter_user_scram_credentials.ScramCredentialUpsertion(
                    name=key.user,
                    mechanism=number,
                    iterations=ITERATIONS_MIN,
                    salt=salt,
                    salted_password=hashed(SCRAM_SHA_256, str(value), salt, ITERATIONS_MIN),
                )
            )
        return int((await self._wire.ask(request, 0)).results[0].error_code)

    async def _set_quota(self, key: QuotaKey, value: Value) -> int:
        entry = alter_client_quotas.AlterClientQuotasRequestEntryData(
            entity=[alter_client_quotas.EntityData(entity_type="user", entity_name=key.user)],
            ops=[alter_client_quotas.OpData(key=key.name, value=float(value or 0), remove=value is None)],
        )
        request = alter_client_quotas.AlterClientQuotasRequest(entries=[entry], validate_only=False)
        return int((await self._wire.ask(request, 1)).entries[0].error_code)

    # --- what there is ---------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """At all there is; into the history."""
        for kind, see in ((AclKey, self._see_acls), (UserKey, self._see_users), (QuotaKey, self._see_quotas)):
            began_us = self._world.now_us
            values = dict(await self._until_answered(see))
            self._history.views.append(View(began_us, self._world.now_us, kind, values))

    async def _until_answered(self, see: Callable[[], Awaitable[Iterable[Any]]]) -> Iterable[Any]:
        while True:
            try:
                return await see()
            except Disconnected:
                await asyncio.sleep(_BACKOFF_S)

    async def _see_acls(self) -> list[tuple[Key, Value]]:
        everything = _filled(DescribeAclsRequest, (ANY, None, ANY, None, None, ANY, ANY))
        answer = await self._wire.ask(everything, 3)
        return [
            (
                AclKey(
                    *(each.resource_type, each.resource_name, each.pattern_type),
                    *(acl.principal, acl.host, acl.operation, acl.permission_type),
                ),
                IS_THERE,
            )
            for each in answer.resources
            for acl in each.acls
        ]

    async def _see_users(self) -> list[tuple[Key, Value]]:
        """Passwords are told to nobody."""
        answer = await self._wire.ask(DescribeUserScramCredentialsRequest(users=None), 0)
        return [(UserKey(each.user), "") for each in answer.results]

    async def _see_quotas(self) -> list[tuple[Key, Value]]:
        answer = await self._wire.ask(DescribeClientQuotasRequest(components=[], strict=False), 1)
        return [
            (QuotaKey(str(entry.entity[0].entity_name), value.key), value.value)
            for entry in answer.entries or []
            for value in entry.values
        ]


def _filled(kind: type[S], values: Iterable[object]) -> S:
    """With these values in its fields, in their order: an AclKey has that of an ACL."""
    return kind(**{field.name: value for field, value in zip(kind.__schema__.fields, values, strict=True)})
