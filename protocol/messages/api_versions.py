"""ApiVersions (key 18), versions 0 to 5, flexible from 3: which APIs and versions a broker offers, and its features.

The response header is always version 0, so that a client can read it before it knows anything. A version the broker
does not know is answered in version 0 with UNSUPPORTED_VERSION and the range of this API.

Versions: 3 the client names itself, features come as tagged fields; 4 features whose lowest level is 0 may be sent;
5 the client says which node of which cluster it means to speak to (KIP-1242).
"""

from barnabas.protocol.codec.schema import BOOL, INT16, INT32, INT64, STRING, Request, Response, Struct, array, field


class ApiVersionsRequest(Request, key=18, versions="0-5", flexible="3+"):
    client_software_name: str = field(STRING, versions="3+", default="", ignorable=True)
    client_software_version: str = field(STRING, versions="3+", default="", ignorable=True)
    # null and -1: not reported, else both
    cluster_id: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)
    node_id: int = field(INT32, versions="5+", default=-1, ignorable=True)


class ApiVersion(Struct):
    api_key: int = field(INT16)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


class SupportedFeatureKey(Struct):
    name: str = field(STRING)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


class FinalizedFeatureKey(Struct):
    name: str = field(STRING)
    max_version_level: int = field(INT16)
    min_version_level: int = field(INT16)


class ApiVersionsResponse(Response, key=18, versions="0-5", flexible="3+"):
    error_code: int = field(INT16)
    api_keys: list[ApiVersion] = field(array(ApiVersion))
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = field(
        array(SupportedFeatureKey), versions="3+", default=[], tag=0, ignorable=True
    )
    finalized_features_epoch: int = field(INT64, versions="3+", default=-1, tag=1, ignorable=True)  # -1: unknown
    finalized_features: list[FinalizedFeatureKey] = field(
        array(FinalizedFeatureKey), versions="3+", default=[], tag=2, ignorable=True
    )
    # of the days of ZooKeeper; false
    zk_migration_ready: bool = field(BOOL, versions="3+", default=False, tag=3, ignorable=True)
