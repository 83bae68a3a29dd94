"""DescribeConfigs (key 32), versions 1 to 4, flexible from 4: the configuration of topics, brokers and other resources.

Resource types: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group. Null keys ask for all of them. The
value of a sensitive key is null.

Versions: 3 types and documentation of the keys.
"""

from barnabas.protocol.codec.schema import BOOL, INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class DescribeConfigsResource(Struct):
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configuration_keys: list[str] | None = field(array(STRING), nullable="0+")  # null: all of them


class DescribeConfigsRequest(Request, key=32, versions="1-4", flexible="4+"):
    resources: list[DescribeConfigsResource] = field(array(DescribeConfigsResource))
    include_synonyms: bool = field(BOOL, default=False)
    include_documentation: bool = field(BOOL, versions="3+", default=False)


class DescribeConfigsSynonym(Struct):
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")
    source: int = field(INT8)


class DescribeConfigsResourceResult(Struct):
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")  # null: sensitive or unset
    read_only: bool = field(BOOL)
    # 1 topic, 2 broker, 3 default of all brokers, 4 static, 5 default, 6 broker logger, 7 client metrics, 8 group
    config_source: int = field(INT8, default=-1)
    is_sensitive: bool = field(BOOL)
    synonyms: list[DescribeConfigsSynonym] = field(array(DescribeConfigsSynonym))
    # 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password
    config_type: int = field(INT8, versions="3+", default=0, ignorable=True)
    documentation: str | None = field(STRING, versions="3+", nullable="0+", default="", ignorable=True)


class DescribeConfigsResult(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[DescribeConfigsResourceResult] = field(array(DescribeConfigsResourceResult))


class DescribeConfigsResponse(Response, key=32, versions="1-4", flexible="4+"):
    throttle_time_ms: int = field(INT32, default=0)
    results: list[DescribeConfigsResult] = field(array(DescribeConfigsResult))
