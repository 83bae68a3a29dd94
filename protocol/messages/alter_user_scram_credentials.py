"""AlterUserScramCredentials (key 51), version 0, flexible: set and remove SCRAM credentials of users.

Mechanisms: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512. The client sends salt and salted password, never the password.
"""

from barnabas.protocol.codec.schema import BYTES, INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class ScramCredentialDeletion(Struct):
    name: str = field(STRING)
    mechanism: int = field(INT8)


class ScramCredentialUpsertion(Struct):
    name: str = field(STRING)
    mechanism: int = field(INT8)
    iterations: int = field(INT32)
    salt: bytes = field(BYTES)
    salted_password: bytes = field(BYTES)


class AlterUserScramCredentialsRequest(Request, key=51, versions="0", flexible="0+"):
    deletions: list[ScramCredentialDeletion] = field(array(ScramCredentialDeletion))
    upsertions: list[ScramCredentialUpsertion] = field(array(ScramCredentialUpsertion))


class AlterUserScramCredentialsResult(Struct):
    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class AlterUserScramCredentialsResponse(Response, key=51, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    results: list[AlterUserScramCredentialsResult] = field(array(AlterUserScramCredentialsResult))
