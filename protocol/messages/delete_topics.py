"""DeleteTopics (key 20), versions 1 to 6, flexible from 4: delete topics.

Versions: 5 error messages; 6 by name or by id, so the plain list of names ends with 5.
"""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, UUID, Request, Response, Struct, array, field
from barnabas.protocol.primitives import ZERO_UUID


class DeleteTopicState(Struct):
    name: str | None = field(STRING, nullable="6+", default=None)  # null: by id
    topic_id: bytes = field(UUID)


class DeleteTopicsRequest(Request, key=20, versions="1-6", flexible="4+"):
    topics: list[DeleteTopicState] = field(array(DeleteTopicState), versions="6+", default=[])
    topic_names: list[str] = field(array(STRING), versions="0-5", default=[], ignorable=True)
    timeout_ms: int = field(INT32)


class DeletableTopicResult(Struct):
    name: str | None = field(STRING, nullable="6+")
    topic_id: bytes = field(UUID, versions="6+", default=ZERO_UUID, ignorable=True)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)


class DeleteTopicsResponse(Response, key=20, versions="1-6", flexible="4+"):
    throttle_time_ms: int = field(INT32, default=0)
    responses: list[DeletableTopicResult] = field(array(DeletableTopicResult))
