"""AlterUserScramCredentials (key 51), v0: give users credentials of SCRAM, and take them back.

The rules are in `broker/catalogue/users.py`. Each user is answered for itself; what keeps all of them from being
changed, such as the disk, is each one's error.
"""

from barnabas.broker.catalogue.users import Deletion, Upsertion
from barnabas.broker.context import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


def handle(request: AlterUserScramCredentialsRequest, context: RequestContext) -> AlterUserScramCredentialsResponse:
    deletions = [Deletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
        for each in request.upsertions
    ]
    results: dict[str, KafkaError | None]
    try:
        results = context.services.catalogue.users.alter(deletions, upsertions)
    except KafkaError as refusal:
        users = [*(each.user for each in deletions), *(each.user for each in upsertions)]
        results = dict.fromkeys(users, refusal.as_value())
    return AlterUserScramCredentialsResponse(results=[_result(user, each) for user, each in results.items()])


def _result(user: str, refusal: KafkaError | None) -> AlterUserScramCredentialsResult:
    code, message = (ErrorCode.NONE, None) if refusal is None else (refusal.code, refusal.message)
    return AlterUserScramCredentialsResult(user=user, error_code=code, error_message=message)
