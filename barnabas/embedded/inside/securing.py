"""A secure broker, and the settings of its clients: `Barnabas(secure=True)`.

Its modules are imported on the first use.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.runtime.clock import wall_ms
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.security.acl.acl import Acl
    from barnabas.broker.server.secure.directory import Security

_ADDRESS = {"java": "bootstrap.servers", "librdkafka": "bootstrap.servers", "spark": "kafka.bootstrap.servers"}
_KINDS = (*_ADDRESS, "kafka_python")


def secure(config: BrokerConfig, users: Mapping[str, str]) -> tuple[Security, dict[str, str]]:
    """Open or make the security directory; return it with the broker's settings for it. Raises ConfigError, OSError.

    users: with their passwords, added to those in the directory.
    """
    try:
        from barnabas.broker.server.secure.secure_config import open_for, settings_for
    except ImportError as missing:
        raise ConfigError("secure needs the package cryptography: pip install 'barnabas[secure]'") from missing
    security = open_for(config, wall_ms(), os.urandom, users)
    return security, settings_for(security, config, renames=True)


def rights(security: Security, grants: Mapping[str, Sequence[str]]) -> list[Acl]:
    """Return the permissions of users, given in the words of `barnabas acls add`. Raises ConfigError."""
    if not grants:
        return []
    from barnabas.broker.cli.acl.acl_options import rights_of
    from barnabas.broker.security.acl.acl import Acl

    found: list[Acl] = []
    for user, texts in grants.items():
        if user not in security.passwords:
            raise ConfigError(f"grants: there is no user {user}{_known(user, security)}")
        for text in texts:
            try:
                found += (Acl(*each) for each in rights_of(f"User:{user}", shlex.split(text)))
            except ValueError as wrong:
                raise ConfigError(f"grants: {user}: {text!r}: {wrong}") from wrong
    return found


def client_settings(security: Security | None, kind: str, user: str, bootstrap: str) -> dict[str, str]:
    """Return the settings of a client of this kind, as this user. Raises KafkaError."""
    kind = "kafka_python" if kind == "kafka-python" else kind  # as the package is called, and the file of its settings
    if kind not in _KINDS:
        known = did_you_mean(kind, _KINDS) or f": {', '.join(sorted(_KINDS))} are"
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{kind} is not a kind of client{known}")
    if security is None:
        return {_ADDRESS.get(kind, "bootstrap_servers"): bootstrap}
    from barnabas.broker.server.secure import clients
    from barnabas.broker.server.secure.directory import AUTHORITY

    if user not in security.passwords:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"there is no user {user}{_known(user, security)}")
    functions = clients.java, clients.librdkafka, clients.spark, clients.kafka_python
    settings = dict(zip(_KINDS, functions, strict=True))[kind]
    login = clients.ClientLogin(bootstrap, security.file(AUTHORITY), user=user, password=security.passwords[user])
    return settings(login)


def _known(user: str, security: Security) -> str:
    """Return the end of the sentence about an unknown user."""
    return did_you_mean(user, security.passwords) or f": {', '.join(sorted(security.passwords))} are known"
