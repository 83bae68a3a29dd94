"""DescribeUserScramCredentials (key 50), version 0, flexible: which SCRAM credentials users have.

Null users ask for all of them. Salts and keys are never returned.
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class UserName(Struct):
    name: str = field(STRING)


class DescribeUserScramCredentialsRequest(Request, key=50, versions="0", flexible="0+"):
    users: list[UserName] | None = field(array(UserName), nullable="0+")


class CredentialInfo(Struct):
    mechanism: int = field(INT8)
    iterations: int = field(INT32)


class DescribeUserScramCredentialsResult(Struct):
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    credential_infos: list[CredentialInfo] = field(array(CredentialInfo))


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = field(array(DescribeUserScramCredentialsResult))
