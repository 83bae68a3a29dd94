"""AlterUserScramCredentials (key 51), v0: set and delete the SCRAM credentials of users.

The rules are in `broker/metadata/image/scram_users.py`. Each user has its own answer; an error that prevents every
change, such as one of the disk, is each user's error.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.metadata.image.scram_users import Deletion, Results, Upsertion, check_count
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from barnabas.storage.steps import Steps, mapped

_ALTERING = WorkClass(may_begin_again=False)


def handle(
    request: AlterUserScramCredentialsRequest, context: RequestContext
) -> AlterUserScramCredentialsResponse | Future[AlterUserScramCredentialsResponse]:
    return context.services.upkeep.to_the_end(lambda: _altered(request, context), _ALTERING)


def _altered(
    request: AlterUserScramCredentialsRequest, context: RequestContext
) -> Steps[AlterUserScramCredentialsResponse]:
    results: Results
    try:
        check_count(len(request.deletions) + len(request.upsertions))
        deletions = [Deletion(each.name, each.mechanism) for each in request.deletions]
        upsertions = [
            Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
            for each in request.upsertions
        ]
        results = yield from context.services.catalogue.users.alter_in_steps(deletions, upsertions)
    except KafkaError as refusal:
        users = [*(each.name for each in request.deletions), *(each.name for each in request.upsertions)]
        results = dict.fromkeys(users, refusal.as_value())
    return AlterUserScramCredentialsResponse(results=(yield from mapped(_result, results.items())))


def _result(of_user: tuple[str, KafkaError | None]) -> AlterUserScramCredentialsResult:
    user, refusal = of_user
    code, message = (ErrorCode.NONE, None) if refusal is None else (refusal.code, refusal.message)
    return AlterUserScramCredentialsResult(user=user, error_code=code, error_message=message)
