"""TLS of a broker: an endpoint for each listener that uses it, updated when settings and files change.

A change of settings is tried before it is accepted, and in force when it is answered. The files of stores are checked
every few seconds, in a thread; new content is used from then on, unless it is invalid: then the previous content stays
in force, and one line is logged with the reason. Existing connections continue unchanged.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.sasl.listener_settings import ListenerSettings
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.tls.endpoint import TlsContext, TlsEndpoint, make, state_of_files
from barnabas.broker.security.tls.settings import ListenerTlsSettings, read_settings
from barnabas.broker.security.tls.store_replacement import check_replacement
from barnabas.protocol.security.listener_protocols import SASL_SSL
from barnabas.protocol.security.stores.identity import StoreError

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock, Timer

_log = logger("net")
LOOK_MS = 5_000
_REFUSED = "Validation of dynamic config update of SSLFactory failed: "


class Tls:
    """The endpoints, by the names of their listeners."""

    def __init__(self, config: BrokerConfig) -> None:
        """Create the endpoints. Raise ConfigError, a sentence, for a listener that could not accept any client."""
        self.endpoints: dict[str, TlsEndpoint] = {}
        self._config = config
        self._tried: dict[str, TlsContext] = {}
        """The stores made for requested settings, until they are in force."""
        self._refused_files: dict[str, tuple[object, ...]] = {}
        """The states of files that were reported as unusable."""
        self._timer: Timer | None = None
        for listener in config.listeners:
            if listener.speaks_tls:
                try:
                    self.endpoints[listener.name] = TlsEndpoint(
                        ListenerSettings(config, listener.name), is_sasl=listener.protocol == SASL_SSL
                    )
                except StoreError as wrong:
                    raise ConfigError(f"listener {listener.name}: {wrong}", "listeners") from wrong

    # --- settings that change --------------------------------------------------------------------------------------

    def objection(self, after: BrokerConfig) -> str | None:
        """Return why the settings may not become these, or None: they are tried."""
        self._tried.clear()
        for name, endpoint in self.endpoints.items():
            try:
                settings = read_settings(ListenerSettings(after, name), is_sasl=endpoint.is_sasl)
                if settings != endpoint.made.settings:
                    self._tried[name] = _replacement(endpoint.made, settings)
            except StoreError as wrong:
                return f"{_REFUSED}{wrong}"
        return None

    def settings_changed(self) -> None:
        """Apply the changed settings: use the stores that were tried, or make them now."""
        tried, self._tried = self._tried, {}
        for name, endpoint in self.endpoints.items():
            try:
                settings = endpoint.wanted()
                if settings == endpoint.made.settings:
                    continue
                made = tried.get(name)
                if made is None or made.settings != settings:
                    made = _replacement(endpoint.made, settings)
            except StoreError as wrong:
                _log.error(line("TLS settings not used", listener=name, reason=str(wrong)))
            else:
                self._put_in_force(name, made)

    # --- files that change -----------------------------------------------------------------------------------------

    def begin(self, clock: Clock, loop: asyncio.AbstractEventLoop) -> None:
        """Start to follow the settings, including those from the catalogue, and the files of the stores."""
        self._config.objections.append(self.objection)
        self._config.when_followed.append(self.settings_changed)
        self.settings_changed()

        def look() -> None:
            looking = loop.run_in_executor(None, self._changed)
            looking.add_done_callback(done)

        def done(looking: asyncio.Future[dict[str, TlsContext | StoreError]]) -> None:
            if self._timer is not None:
                self._take(looking.result())
                self._timer = clock.call_later(LOOK_MS, look)

        self._timer = clock.call_later(LOOK_MS, look)

    def close(self) -> None:
        """Stop following."""
        if self._timer is None:
            return
        self._config.objections.remove(self.objection)
        self._config.when_followed.remove(self.settings_changed)
        self._timer.cancel()
        self._timer = None

    def _changed(self) -> dict[str, TlsContext | StoreError]:
        """Return the new stores of files that have changed. Runs in a thread: changes nothing here."""
        found: dict[str, TlsContext | StoreError] = {}
        for name, endpoint in self.endpoints.items():
            made = endpoint.made
            files = state_of_files(made.settings)
            if files in (made.files, self._refused_files.get(name)):
                continue
            try:
                found[name] = _replacement(made, made.settings)
            except StoreError as wrong:
                found[name] = wrong
        return found

    def _take(self, changed: dict[str, TlsContext | StoreError]) -> None:
        for name, found in changed.items():
            if isinstance(found, TlsContext):
                if found.settings == self.endpoints[name].made.settings:  # else they have changed meanwhile
                    self._put_in_force(name, found)
            else:
                self._refused_files[name] = state_of_files(self.endpoints[name].made.settings)
                _log.error(line("changed TLS stores not used", listener=name, reason=str(found)))

    def _put_in_force(self, name: str, made: TlsContext) -> None:
        self.endpoints[name].put_in_force(made)
        self._refused_files.pop(name, None)
        _log.info(line("TLS stores loaded", listener=name))


def _replacement(old: TlsContext, settings: ListenerTlsSettings) -> TlsContext:
    """Make the stores for other settings or files. Raise StoreError if they are invalid or may not replace the old."""
    made = make(settings)
    check_replacement(settings, made.stores, old.stores)
    return made
