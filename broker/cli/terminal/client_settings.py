"""A file of client settings, as for Kafka's tools: the security of a command's connections, and the addresses.

Its properties are Kafka's, and so are the configuration providers that resolve variables in values. The names of
properties without effect here are printed on stderr, but never a value, nor a line that may be part of one.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.cli.terminal.failures import UsageError

if TYPE_CHECKING:
    import argparse

    from barnabas.client.security.settings import SecuritySettings

OPTION = "--command-config"
_PROVIDERS = "config.providers"
_BOOTSTRAP = "bootstrap.servers"
_SET_OTHERWISE = (_BOOTSTRAP, "client.id", "group.id", "request.timeout.ms")
"""Properties in files for Java's clients whose values a command takes from its options."""
_WORDS = ("acks", "retries")
"""Properties of Java's clients that do not look like names of settings."""


class ClientSettings(NamedTuple):
    """The contents of a file."""

    path: str
    security: SecuritySettings
    bootstrap: str | None
    """Its bootstrap.servers: the cluster's addresses, if no option gives them."""


def settings_of(options: argparse.Namespace) -> ClientSettings | None:
    """Return the settings in the file that the options name, if any. It is read once. UsageError as `settings_in`."""
    if getattr(options, "command_config", None) is None:
        return None
    if "client_settings" not in options:
        options.client_settings = settings_in(options.command_config)
    found: ClientSettings = options.client_settings
    return found


def settings_in(path: str, *, also_known: Collection[str] = ()) -> ClientSettings:
    """Read a file. UsageError in one sentence, without a secret value.

    also_known: properties that have an effect for the caller.
    """
    from barnabas.client.client import Client
    from barnabas.client.security.client_properties import read_properties
    from barnabas.client.security.properties import KEYS, security_of
    from barnabas.client.security.settings import SettingsError
    from barnabas.protocol.files.properties import MISREAD, is_misread_utf8

    try:
        found = read_properties(path)
    except ValueError as error:
        raise UsageError(f"{OPTION}: {error}") from error
    try:
        security = security_of(found)
        Client([], security=security)  # reads the stores, and finds a token provider
    except OSError as error:
        raise UsageError(f"{OPTION}: {path}: {(error.strerror or str(error)).lower()}") from error
    except SettingsError as error:
        raise UsageError(f"{OPTION}: {path}: {error}") from None
    for name in sorted(name for name in KEYS if is_misread_utf8(found.get(name, ""))):
        print(f"barnabas: {OPTION}: {path}: {name}: {MISREAD}", file=sys.stderr)
    without_effect = sorted(found.keys() - {*KEYS, *_SET_OTHERWISE, *also_known, _PROVIDERS})
    if without_effect:
        from barnabas.broker.config.unknown_keys import counted_lines, is_name

        named = [name for name in without_effect if name in _WORDS or is_name(name, found[name])]
        count = len(without_effect) - len(named)
        without_effect_text = ", ".join([*named, counted_lines(count)] if count else named)
        print(f"barnabas: {OPTION}: {path}: has no effect here: {without_effect_text}", file=sys.stderr)
    return ClientSettings(path, security, found.get(_BOOTSTRAP, "").strip() or None)
