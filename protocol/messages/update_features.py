"""UpdateFeatures (key 57), versions 0 to 2, flexible: change the finalized feature levels.

Versions: 1 kinds of upgrade and dry runs in place of a flag; 2 one result for all features.
"""

from barnabas.protocol.codec.schema import BOOL, INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class FeatureUpdateKey(Struct):
    feature: str = field(STRING)
    max_version_level: int = field(INT16)
    allow_downgrade: bool = field(BOOL, versions="0", default=False)
    upgrade_type: int = field(INT8, versions="1+", default=1)


class UpdateFeaturesRequest(Request, key=57, versions="0-2", flexible="0+"):
    timeout_ms: int = field(INT32, default=60000)
    feature_updates: list[FeatureUpdateKey] = field(array(FeatureUpdateKey))
    validate_only: bool = field(BOOL, versions="1+", default=False)


class UpdatableFeatureResult(Struct):
    feature: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    results: list[UpdatableFeatureResult] = field(
        array(UpdatableFeatureResult), versions="0-1", default=[], ignorable=True
    )
