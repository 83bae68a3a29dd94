"""DescribeUserScramCredentials (key 50), v0: the SCRAM credentials that users have. Salts and keys are never returned.

Without users in the request, or with none, all are returned. RESOURCE_NOT_FOUND for one that does not exist,
DUPLICATE_RESOURCE for one that is named twice.
"""

from asyncio import Future
from collections import Counter

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from barnabas.storage.steps import Steps

_TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "
_UNKNOWN = "Attempt to describe a user credential that does not exist: "


def handle(
    request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse | Future[DescribeUserScramCredentialsResponse]:
    return context.services.request_scheduler.in_slices(lambda: _described(request, context))


def _described(
    request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> Steps[DescribeUserScramCredentialsResponse]:
    iterations = context.services.catalogue.users.iterations()
    requested = Counter(each.name for each in request.users or ()) or Counter(iterations.keys())
    response = DescribeUserScramCredentialsResponse(error_code=ErrorCode.NONE, error_message=None, results=[])
    for user, times in requested.items():
        yield
        result = DescribeUserScramCredentialsResult(
            user=user, error_code=ErrorCode.NONE, error_message=None, credential_infos=[]
        )
        if times > 1:
            _refuse(result, KafkaError(ErrorCode.DUPLICATE_RESOURCE, f"{_TWICE}{user}"))
        elif user not in iterations:
            _refuse(result, KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"{_UNKNOWN}{user}"))
        else:
            result.credential_infos = [
                CredentialInfo(mechanism=mechanism, iterations=count) for mechanism, count in iterations[user].items()
            ]
        response.results.append(result)
    return response


def _refuse(result: DescribeUserScramCredentialsResult, refusal: KafkaError) -> None:
    """Set the error and the refusal's own message, which is no longer than an answer allows."""
    result.error_code, result.error_message = refusal.code, refusal.message
