"""/ and /v1/metadata: that the registry is there, the ids of the clusters, and the version of the API."""

from __future__ import annotations

from typing import Any

from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.resource import ApiRoute

API_VERSION = "8.3.0"
"""The version of Confluent Schema Registry whose API this is."""
GROUP_ID = "schema-registry"
"""The default name of a cluster of registries."""


class ServerMetadata:
    """The operations of / and /v1/metadata."""

    def __init__(self, cluster_id: str, commit_id: str) -> None:
        """Create them. cluster_id: Kafka's. commit_id: this registry's own version."""
        self._cluster_id = cluster_id
        self._commit_id = commit_id
        self.routes = [
            ApiRoute("GET", "/", self._root),
            ApiRoute("POST", "/", self._root),
            ApiRoute("GET", "/v1/metadata/id", self._id),
            ApiRoute("GET", "/v1/metadata/version", self._version),
        ]

    async def _root(self, request: ApiRequest) -> Any:
        return {}

    async def _id(self, request: ApiRequest) -> Any:
        clusters = {"kafka-cluster": self._cluster_id, "schema-registry-cluster": GROUP_ID}
        return {"scope": {"path": [], "clusters": clusters}}

    async def _version(self, request: ApiRequest) -> Any:
        return {"version": API_VERSION, "commitId": self._commit_id}
