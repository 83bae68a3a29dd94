"""A broker that gives the answers of a test, over a real socket in a thread of this process.

It stands on the sans-IO server connection. ApiVersions and Metadata are answered from what the test set up; every other
API by a function of the test: it gets the decoded request and returns a response, None (no answer), or HANG_UP.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from barnabas.protocol.codec.schema import Request, Response
from barnabas.protocol.connection.server import ProtocolBroken, RequestReceived, ServerConnection, encode_response
from barnabas.protocol.messages import metadata
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.registry import ApiKey
from tests.support.processes.listener import ThreadedListener

NODE_ID = 1
_ARRIVAL_TIMEOUT_S = 60.0


class HangUp:
    """Instead of an answer: close the connection."""


HANG_UP: Final = HangUp()
Answer = Response | HangUp | bytes | None
Script = Mapping[ApiKey, Callable[[Any], Answer]]


class ScriptedBroker(ThreadedListener):
    """One node that leads every partition of `topics` (partitions by name). Use it as a context manager."""

    def __init__(
        self, script: Script | None = None, topics: Mapping[str, int] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__()
        self._tls = tls
        self.script = dict(script or {})
        self.topics = dict(topics or {})
        self.topic_ids = {name: name.encode().ljust(16, b"\0") for name in self.topics}
        self.offered: dict[ApiKey, tuple[int, int]] = {api: (api.min_version, api.max_version) for api in ApiKey}
        self.requests: list[tuple[int, Request]] = []
        """(version, request) of everything but ApiVersions and Metadata, as it came."""
        self._arrival = threading.Condition()

    def of(self, kind: type[Request]) -> list[Any]:
        """The requests of one kind that came so far."""
        return [request for _, request in self.requests if isinstance(request, kind)]

    def await_arrival(self, kind: type[Request]) -> None:
        """Return once a request of this kind has come: for one that gets no answer, as an answer on another connection
        does not show that.
        """
        with self._arrival:
            assert self._arrival.wait_for(lambda: self.of(kind), _ARRIVAL_TIMEOUT_S), f"no {kind.__name__} came"

    def _serve(self, connection: socket.socket) -> None:
        protocol = ServerConnection()
        with suppress(OSError):  # the client gave up the handshake
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
        with connection, suppress(OSError):  # the client is gone
            while data := connection.recv(1 << 16):
                for event in protocol.receive(data):
                    if isinstance(event, ProtocolBroken):
                        return
                    answer = self._answer(event)
                    if isinstance(answer, HangUp):
                        return
                    if isinstance(answer, Response):
                        version = 0 if self._is_refusal(event) else None
                        answer = encode_response(event.header, answer, version)
                    connection.sendall(protocol.reply(event.sequence, answer))

    def _is_refusal(self, event: RequestReceived) -> bool:
        api, version = event.header.api_key, event.header.api_version
        return api == ApiKey.API_VERSIONS and version > self.offered[ApiKey.API_VERSIONS][1]

    def _answer(self, event: RequestReceived) -> Answer:
        if self._is_refusal(event):
            low, high = self.offered[ApiKey.API_VERSIONS]
            refused = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=low, max_version=high)
            return ApiVersionsResponse(error_code=35, api_keys=[refused])
        request = event.decode()
        api = ApiKey(event.header.api_key)
        if api not in self.script and isinstance(request, ApiVersionsRequest):
            return ApiVersionsResponse(
                error_code=0,
                api_keys=[
                    ApiVersion(api_key=offered, min_version=low, max_version=high)
                    for offered, (low, high) in self.offered.items()
                ],
            )
        if api not in self.script and isinstance(request, metadata.MetadataRequest):
            return self._metadata(request)
        with self._arrival:
            self.requests.append((event.header.api_version, request))
            self._arrival.notify_all()
        return self.script[api](request)

    def _metadata(self, request: metadata.MetadataRequest) -> metadata.MetadataResponse:
        names = [*self.topics] if request.topics is None else [topic.name or "" for topic in request.topics]
        return metadata.MetadataResponse(
            brokers=[metadata.MetadataResponseBroker(node_id=NODE_ID, host="127.0.0.1", port=self.port)],
            cluster_id="scripted",
            controller_id=NODE_ID,
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> metadata.MetadataResponseTopic:
        partitions = [
            metadata.MetadataResponsePartition(
                error_code=0, partition_index=number, leader_id=NODE_ID, replica_nodes=[NODE_ID], isr_nodes=[NODE_ID]
            )
            for number in range(self.topics.get(name, 0))
        ]
        topic_id = self.topic_ids.get(name, bytes(16))
        return metadata.MetadataResponseTopic(
            error_code=0 if partitions else 3, name=name, topic_id=topic_id, partitions=partitions
        )
