"""Requests to a schema registry, any with Confluent's REST API."""

from __future__ import annotations

import argparse
import json
from base64 import b64encode
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from barnabas.broker.cli.terminal.client_settings import ClientSettings, settings_of
from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.http_connection import answered
from barnabas.broker.cli.terminal.options import DEFAULT_REGISTRY

_PORTS = {"http": 80, "https": 443}
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_ANSWER_BYTES_MAX = 16 << 20


class RegistryAnswer(NamedTuple):
    """An answer of a registry: the HTTP status, and the JSON object; empty if there was none."""

    status: int
    fields: dict[str, Any]

    @property
    def refusal(self) -> str:
        """The sentence of a refusal, with its status."""
        return f"{self.status}: {self.fields.get('message', 'which is no answer of a registry')}"


class RegistryApi:
    """A registry at a URL."""

    def __init__(self, url: str, settings: ClientSettings | None, timeout_ms: int) -> None:
        """Connect to nothing yet. Raises UsageError for no URL.

        settings: those of the broker's connections: HTTPS takes their trusted certificates, and their user where the
        URL has none.
        """
        parts = urlsplit(url)
        try:
            port = parts.port or _PORTS[parts.scheme]
        except (KeyError, ValueError):
            raise UsageError(f"--registry: give HOST:PORT or a URL, such as http://{DEFAULT_REGISTRY}") from None
        host = parts.hostname or ""
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept": _CONTENT_TYPE, "Content-Type": _CONTENT_TYPE}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
        self._settings = _secured(settings, has_user=parts.username is not None) if parts.scheme == "https" else None
        self._timeout_s = timeout_ms / 1000

    def ask(self, path: str, body: Any = None, method: str = "GET") -> RegistryAnswer:
        """Return the answer to a request. OSError if there is none."""
        with answered(
            self.address,
            self._settings,
            self._path + path,
            None if body is None else json.dumps(body),
            method=method,
            headers=self._headers,
            timeout_s=self._timeout_s,
            served_with="--registry",
        ) as response:
            text = response.read(_ANSWER_BYTES_MAX)
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = None
        return RegistryAnswer(response.status, fields if isinstance(fields, dict) else {})


def registry_api(options: argparse.Namespace) -> RegistryApi:
    """Return the registry that --registry names, or the one on this machine. UsageError.

    Without a scheme it is asked over HTTPS if the broker is connected to over TLS.
    """
    settings = settings_of(options)
    url = options.registry or DEFAULT_REGISTRY
    if ":" not in url:
        raise UsageError(f"--registry {url}: give HOST:PORT or a URL, such as http://{DEFAULT_REGISTRY}")
    if "://" not in url:
        url = f"{'http' if settings is None or settings.security.tls is None else 'https'}://{url}"
    return RegistryApi(url, settings, options.request_timeout_ms)


def _secured(settings: ClientSettings | None, *, has_user: bool) -> ClientSettings:
    """Return the settings of an HTTPS connection."""
    from barnabas.client.security.settings import SecuritySettings, TlsSettings

    security = SecuritySettings() if settings is None else settings.security
    sasl = None if has_user else security.sasl
    path = "" if settings is None else settings.path
    return ClientSettings(path, SecuritySettings(security.tls or TlsSettings(), sasl), None)
