"""ListConfigResources (key 74), versions 0 to 1, flexible: the resources that have a configuration.

Versions: 1 all types of resources; before, client metrics only.
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class ListConfigResourcesRequest(Request, key=74, versions="0-1", flexible="0+"):
    resource_types: list[int] = field(array(INT8), versions="1+", default=[])


class ConfigResource(Struct):
    resource_name: str = field(STRING)
    resource_type: int = field(INT8, versions="1+", default=16, ignorable=True)


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    config_resources: list[ConfigResource] = field(array(ConfigResource))
