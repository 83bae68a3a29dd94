"""IncrementalAlterConfigs (key 44), versions 0 to 1, flexible from 1: change single configuration keys of resources.

Operations: 0 set, 1 delete (back to the default), 2 append to a list, 3 subtract from a list.
"""

from barnabas.protocol.codec.schema import BOOL, INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class AlterableConfig(Struct):
    name: str = field(STRING)
    config_operation: int = field(INT8)  # 0 set, 1 delete, 2 append, 3 subtract
    value: str | None = field(STRING, nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[AlterableConfig] = field(array(AlterableConfig))


class IncrementalAlterConfigsRequest(Request, key=44, versions="0-1", flexible="1+"):
    resources: list[AlterConfigsResource] = field(array(AlterConfigsResource))
    validate_only: bool = field(BOOL)  # check, but change nothing


class AlterConfigsResourceResponse(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


class IncrementalAlterConfigsResponse(Response, key=44, versions="0-1", flexible="1+"):
    throttle_time_ms: int = field(INT32, default=0)
    responses: list[AlterConfigsResourceResponse] = field(array(AlterConfigsResourceResponse))
