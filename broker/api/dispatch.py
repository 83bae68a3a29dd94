# compiled: mypyc
"""From a request frame to its answer: reads the header, and calls what serves that version of that API.

Knows the API table, no API in particular and no sockets.

Theory of operation: whether a connection has to authenticate is decided by its session once, when it begins. The stages
that a request passes on its way to its handler are in `pipeline.py`, in their order. A handler returns its response or
a future of it, which is awaited here, and cancelled when the peer leaves: work that must be completed runs behind a
separate future (replies.py, asyncio's shield). Produce alone is not cancelled.

Invariants: bytes without a whole header, and requests for what is not offered, raise CloseConnection and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.api_table import ApiRow, table_for
from barnabas.broker.api.deferred_response import Answer, CloseConnection
from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection, Wrap
from barnabas.broker.api.pipeline import Pipeline
from barnabas.broker.api.stages.decoding import encoded_frame
from barnabas.broker.security.session.session import Authentication, Session
from barnabas.broker.services import Services
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.api.authentication.sasl_authenticator import SaslAuthenticator
    from barnabas.broker.api.authentication.sasl_listener import SaslListener
    from barnabas.broker.api.stages.metering import Meter

_HEADER: Final = Struct(">hhih")  # api_key, api_version, correlation_id, size of client_id

Dispatch = Callable[[memoryview, RequestConnection], Answer]


class Dispatcher:
    """Answers requests with the services of one node."""

    def __init__(
        self,
        services: Services,
        table: tuple[ApiRow, ...] | None = None,
        meter: Meter | None = None,
        sasl_listeners: Mapping[str, SaslListener] | None = None,
    ) -> None:
        """Make handlers on demand. `table`: replaces that of this broker's settings. `meter`: counts requests.

        sasl_listeners: the SASL settings of the listeners that require authentication, by listener.
        """
        self._sasl_listeners = sasl_listeners or {}
        self.purgatory = services.purgatory
        self._services = services
        self._rows = {int(row.key): row for row in table or table_for(services.config)}
        self._pipeline = Pipeline(services, meter)
        self._handlers = self._pipeline.handlers

    def dispatch(self, frame: memoryview, client: RequestConnection) -> Answer:
        """Return the answer to one request frame (without its size). Raise CloseConnection when there is none."""
        try:
            api_key, version, correlation_id, client_id_size = _HEADER.unpack_from(frame)
        except StructError:
            raise CloseConnection(f"a request of {len(frame)} bytes has no whole header") from None
        if client_id_size > 0:
            position = 10 + client_id_size
            if len(client.client_id_raw) != client_id_size or frame[10:position] != client.client_id_raw:
                _learn_client_id(frame, client_id_size, client)
        elif client_id_size < -1:
            raise CloseConnection(f"a client id of {client_id_size} bytes")
        else:
            position = 10
            client.client_id, client.client_id_raw = (None if client_id_size else ""), b""
        handler = self._handlers.get((api_key, version))
        if handler is None:
            handler = self._handler(api_key, version)
        return handler(frame, position, correlation_id, client)

    def intercept(self, wrap: Wrap | None) -> None:
        """Call the result of `wrap` in place of each frame handler; with None the frame handlers themselves again."""
        self._pipeline.intercept(wrap)

    def session(self, listener: str) -> Session:
        """Return the session of a new connection of a listener."""
        sasl_listener = self._sasl_listeners.get(listener)
        if sasl_listener is None:
            return Session(listener)
        return Session(listener, Authentication.REQUIRED, sasl_listener.frame_bytes_max)

    def authenticator_for(self, session: Session) -> SaslAuthenticator | None:
        """Return the authenticator of a connection with this session; None if it need not authenticate."""
        if session.is_authenticated:
            return None
        # Imported where clients have to authenticate.
        from barnabas.broker.api.authentication.sasl_authenticator import SaslAuthenticator

        return SaslAuthenticator(self._sasl_listeners[session.listener], self.dispatch)

    def preload(self, row: ApiRow) -> None:
        """Import the modules of the API, so that its first request does not wait for them."""
        self._pipeline.preload(row)

    def _handler(self, api_key: int, version: int) -> FrameHandler:
        """Return the handler to call; only supported versions are stored, as a client may name thousands of others."""
        row = self._rows.get(api_key)
        if row is None:
            known = {int(key): key.api_name for key in ApiKey}.get(api_key)
            raise CloseConnection(f"API key {api_key} is not offered", known)
        if row.min_version <= version <= row.max_version:
            return self._pipeline.handler(row, version)
        if row.key == ApiKey.API_VERSIONS:
            return self._of_unknown_version(row)
        served = f"served are {row.min_version} to {row.max_version}"
        raise CloseConnection(f"version {version} of {row.key.api_name}, {served}", row.key.api_name)

    def _of_unknown_version(self, row: ApiRow) -> FrameHandler:
        """Return the handler for an unknown version of ApiVersions: the body is not read, the answer has version 0."""
        handler = import_module(f"barnabas.broker.api.handlers.{row.handler}")

        def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            return encoded_frame(row.key, 0, correlation_id, handler.unsupported_version(self._services))

        return serve


def _learn_client_id(frame: memoryview, size: int, client: RequestConnection) -> None:
    raw = bytes(frame[10 : 10 + size])
    if len(raw) < size:
        raise CloseConnection(f"a client id of {size} bytes runs past the end")
    try:
        client.client_id = raw.decode()
    except UnicodeDecodeError as error:
        raise CloseConnection(f"a client id that is not UTF-8: {error}") from error
    client.client_id_raw = raw
