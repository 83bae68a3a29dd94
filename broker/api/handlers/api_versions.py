"""ApiVersions (key 18), v0-5: the APIs and features of this broker.

Lists exactly the APIs that are answered, in every version listed; Produce from 0 on, since old librdkafka takes a
missing version 0 for a broker that cannot decompress (KAFKA-18659). A version above the supported ones is answered in
v0 with UNSUPPORTED_VERSION and the range of this API alone (`unsupported_version`), and the client retries. Versions: 3
the client names its software, or gets INVALID_REQUEST; features are listed; 4 also those with a lowest level 0, which
older Java clients cannot read (KAFKA-17492); 5 the client names the cluster and the node that it means, and gets
REBOOTSTRAP_REQUIRED from any other; only one of the two is INVALID_REQUEST (KIP-1242).
"""

import re

from barnabas.broker.metadata.image.features import KRAFT_LEVEL, KRAFT_VERSION, OFFERED_FEATURES
from barnabas.broker.services import OfferedApi, RequestContext, Services
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

API_VERSIONS = 18
_CLIENT_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_NO_NODE = -1


def handle(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    refusal = _refusal(request, context)
    if refusal is not ErrorCode.NONE:
        return ApiVersionsResponse(error_code=refusal, api_keys=[])
    services = context.services
    if context.api_version >= 3 and context.connection is not None:
        context.connection.session.client_software = request.client_software_name, request.client_software_version
    finalized = {**services.catalogue.feature_levels, KRAFT_VERSION: KRAFT_LEVEL}
    return ApiVersionsResponse(
        error_code=ErrorCode.NONE,
        api_keys=[_row(offered) for offered in services.offered_apis],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in OFFERED_FEATURES.items()
            if low > 0 or context.api_version >= 4
        ],
        finalized_features_epoch=services.catalogue.features_epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(finalized.items())
            if name in OFFERED_FEATURES
        ],
    )


def _refusal(request: ApiVersionsRequest, context: RequestContext) -> ErrorCode:
    """Return the first error of the request, in Kafka's order, or NONE."""
    if (request.cluster_id is None) is not (request.node_id == _NO_NODE):
        return ErrorCode.INVALID_REQUEST
    if context.api_version >= 3:
        for word in (request.client_software_name, request.client_software_version):
            if _CLIENT_SOFTWARE.fullmatch(word) is None:
                return ErrorCode.INVALID_REQUEST
    node = context.services.node
    if request.cluster_id is not None and (request.cluster_id, request.node_id) != (node.cluster_id, node.node_id):
        return ErrorCode.REBOOTSTRAP_REQUIRED
    return ErrorCode.NONE


def unsupported_version(services: Services) -> ApiVersionsResponse:
    """Return the answer to a request in an unsupported version, encoded in version 0."""
    mine = [_row(offered) for offered in services.offered_apis if offered.api_key == API_VERSIONS]
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=mine)


def _row(offered: OfferedApi) -> ApiVersion:
    return ApiVersion(api_key=offered.api_key, min_version=offered.min_version, max_version=offered.max_version)
