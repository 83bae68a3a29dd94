"""UpdateFeatures (key 57), v0-2: raise or lower the levels of features, all of them or none.

The rules are in `broker/metadata/image/features.py`. A refusal is at the top, for the whole request, in every version;
v0 and v1 list every feature of a successful request. Versions: 0 has no upgrade type, so in it levels can only rise,
whatever its `allow_downgrade` is (as in Kafka 4); 1 upgrade types and dry runs.
"""

from __future__ import annotations

from barnabas.broker.metadata.catalogue import FeatureUpdate
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_ONE_RESULT_SINCE = 2


def handle(request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    updates = [
        FeatureUpdate(each.feature, each.max_version_level, each.upgrade_type) for each in request.feature_updates
    ]
    try:
        context.services.catalogue.update_features(updates, validate_only=request.validate_only)
    except KafkaError as refusal:
        return UpdateFeaturesResponse(error_code=refusal.code, error_message=refusal.message)
    response = UpdateFeaturesResponse(error_code=ErrorCode.NONE, error_message=None)
    if context.api_version < _ONE_RESULT_SINCE:
        response.results = [
            UpdatableFeatureResult(feature=each.name, error_code=ErrorCode.NONE, error_message=None) for each in updates
        ]
    return response
