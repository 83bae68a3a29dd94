"""Makes a configuration secure: every client listener uses SASL_SSL, with the security directory's content, and an
authorizer checks every operation.

The listeners keep their names, hosts and ports. A configuration with its own secure listeners is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.listeners.listeners import address_text
from barnabas.broker.server.secure.clients import MECHANISM, files
from barnabas.broker.server.secure.directory import (
    AUTHORITY,
    BROKER,
    NO_USERS,
    DirectoryContent,
    Security,
    SecurityError,
    directory_for,
    look,
    open_security,
    write,
)
from barnabas.broker.server.secure.grants import SUPER_USER
from barnabas.broker.server.secure.users import USERS
from barnabas.protocol.security.listener_protocols import PLAINTEXT, SASL_SSL

if TYPE_CHECKING:
    from barnabas.broker.network.bound_sockets import BoundAddress

_PROTOCOL_MAP = "listener.security.protocol.map"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def open_for(
    config: BrokerConfig, now_ms: int, random: Callable[[int], bytes], users: Mapping[str, str] = NO_USERS
) -> Security:
    """Open or create the security directory of this configuration's broker, with these additional users.

    Raises ConfigError, OSError.
    """
    _check_listeners(config)
    try:
        return open_security(directory_for(config.data_dirs[0]), hosts_of(config), now_ms, random, users)
    except SecurityError as broken:
        raise ConfigError(str(broken)) from broken


def look_for(config: BrokerConfig, now_ms: int, *, is_ephemeral: bool) -> DirectoryContent:
    """Return what `open_for` would find; create nothing. Raises ConfigError, OSError."""
    _check_listeners(config)
    path = directory_for(config.data_dirs[0])
    if is_ephemeral:
        return DirectoryContent(Security(path, {user: user for user in USERS}))
    try:
        return look(path, hosts_of(config), now_ms)
    except SecurityError as broken:
        raise ConfigError(str(broken)) from broken


def _check_listeners(config: BrokerConfig) -> None:
    own = [listener for listener in config.listeners if listener.protocol != PLAINTEXT]
    if own:
        named = ", ".join(f"{each.name} ({each.protocol})" for each in own)
        raise ConfigError(f"--secure secures PLAINTEXT listeners, but listeners has {named}", "listeners")


def hosts_of(config: BrokerConfig) -> list[str]:
    """Return the names and addresses by which clients reach the broker, if they are known."""
    found = dict.fromkeys(_LOCAL)
    for address in (*config.listeners, *config.configured_advertised_listeners):
        if address.host and not address.is_every_interface:
            found[address.host.partition("%")[0].lower()] = None
    return list(found)


def settings_for(security: Security, config: BrokerConfig, *, renames: bool = False) -> dict[str, str]:
    """Return the broker's settings, by Kafka's names, which override those of `config`.

    `renames`: whether the listener was chosen by Barnabas, and so is named SASL_SSL instead of PLAINTEXT.
    """
    listeners = [listener.name for listener in config.listeners]
    renamed: dict[str, str] = {}
    if renames and listeners == [PLAINTEXT]:
        (address,) = config.strings("listeners")
        listeners, renamed = [SASL_SSL], {"listeners": f"{SASL_SSL}{address[len(PLAINTEXT) :]}"}
    pairs = config.string(_PROTOCOL_MAP).split(",")
    others = [pair for pair in pairs if pair.partition(":")[0].strip().upper() not in listeners]
    users = " ".join(f'user_{user}="{password}"' for user, password in security.passwords.items())
    settings = {
        **renamed,
        _PROTOCOL_MAP: ",".join([*filter(None, others), *(f"{name}:{SASL_SSL}" for name in listeners)]),
        "sasl.enabled.mechanisms": MECHANISM,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": security.file(BROKER),
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": ";".join(filter(None, [config.text("super.users"), SUPER_USER])),
    }
    for name in listeners:
        jaas = f"listener.name.{name.lower()}.{MECHANISM.lower()}.sasl.jaas.config"
        settings[jaas] = f"{_LOGIN} required {users};"
    return settings


def bootstrap_of(bound: Iterable[BoundAddress]) -> str:
    """Return the bootstrap servers for clients on this machine, or at the advertised addresses."""
    addresses = []
    for each in bound:
        address = each.advertised or each.listener
        host = "localhost" if address.is_every_interface else address.host
        addresses.append(address_text(host, each.client_port))
    return ",".join(addresses)


def write_client_settings(security: Security, bootstrap: str) -> Mapping[str, str]:
    """Write the settings of clients into files of the directory; return the paths by name. Raises OSError."""
    written = files(bootstrap, security.file(AUTHORITY), security.passwords)
    for name, text in written.items():
        write(security.path, name, text)
    return {name: security.file(name) for name in written}
