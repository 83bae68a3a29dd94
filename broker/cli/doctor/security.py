"""Listeners with TLS or SASL, and the authorizer: would clients get access?

Stores are opened as a start opens them. No finding contains a password or a key.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from barnabas.broker.cli.doctor.finding import CheckResult, note, ok, problem, warning
from barnabas.broker.config import BrokerConfig, Listener
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.sasl.listener_settings import ListenerSettings
from barnabas.protocol.security.listener_protocols import SASL_SSL
from barnabas.protocol.security.stores.identity import StoreError

if TYPE_CHECKING:
    from barnabas.broker.metadata.image.image import Image

SOON = timedelta(days=30)


def examine(
    config: BrokerConfig,
    catalogue: Image | None,
    now_ms: int,
    *,
    adds_users: bool,
    certificate_comes: bool = False,
) -> list[CheckResult]:
    """Return the findings.

    `catalogue`: from the data directory, if it is readable. `adds_users`: whether the start adds SCRAM users.
    `certificate_comes`: whether the start issues the certificate of its listeners, which cannot be examined before.
    """
    findings: list[CheckResult] = []
    for listener in config.listeners:
        if listener.speaks_tls and not certificate_comes:
            findings += _tls(config, listener, datetime.fromtimestamp(now_ms / 1000, UTC))
        if listener.speaks_sasl:
            findings += _sasl(config, listener, catalogue, adds_users=adds_users)
    return [*findings, *_authorizer(config)]


def _tls(config: BrokerConfig, listener: Listener, now: datetime) -> Iterator[CheckResult]:
    from barnabas.broker.security.tls.endpoint import TlsEndpoint
    from barnabas.broker.security.tls.stores import files_of

    check = f"TLS of {listener.name}"
    try:
        made = TlsEndpoint(ListenerSettings(config, listener.name), is_sasl=listener.protocol == SASL_SSL).made
    except StoreError as wrong:
        yield problem(
            check, str(wrong), "docs/security/tls.md explains how to create stores and which settings name them"
        )
        return
    try:
        yield from _certificate(check, made.stores.identity.chain[0], _host_of(config, listener), now)
    except ValueError as broken:
        yield problem(check, f"its certificate cannot be read: {broken}")
    yield from _readable_by_all(check, next(files_of(made.settings), None))


def _certificate(check: str, certificate: bytes, host: str | None, now: datetime) -> Iterator[CheckResult]:
    from barnabas.broker.security.tls.certificates import hosts_of, is_for, validity_of

    validity, hosts = validity_of(certificate), hosts_of(certificate)
    begins, ends = (f"{each:%Y-%m-%d %H:%M} UTC" for each in validity)
    named = ", ".join(hosts) or "no host"
    anew = "issue it again; a running broker loads the new file by itself"
    if validity.ends <= now:
        yield problem(check, f"its certificate expired on {ends}", anew)
    elif validity.begins > now:
        yield problem(check, f"its certificate is not valid before {begins}", "check the clock")
    elif validity.ends - now <= SOON:
        yield warning(check, f"its certificate expires within a month, on {ends}", anew)
    else:
        yield ok(check, f"its certificate is for {named}, until {ends}")
    if host is not None and not is_for(host, hosts):
        text = f"clients connect to {host}, but the certificate is for {named}: they refuse it"
        yield problem(check, text, "issue one for that name, or set advertised.listeners to a name that it has")


def _host_of(config: BrokerConfig, listener: Listener) -> str | None:
    """Return the host that clients connect to, if it is known."""
    address = config.advertised(listener) or listener
    return None if address.is_every_interface or not address.host else address.host.partition("%")[0]


def _readable_by_all(check: str, path: str | None) -> Iterator[CheckResult]:
    """Yield a warning if every user may read `path`, the file of the key store, if it is a file."""
    if path is None:
        return
    try:
        mode = os.stat(path).st_mode
    except OSError as gone:
        yield warning(check, f"{path} cannot be read: {gone.strerror}")
        return
    if mode & stat.S_IROTH:
        yield warning(
            check, f"{path} has a private key, and every user of this machine can read it", f"chmod 600 {path}"
        )


def _sasl(
    config: BrokerConfig, listener: Listener, catalogue: Image | None, *, adds_users: bool
) -> Iterator[CheckResult]:
    from barnabas.broker.config.sasl.sasl_settings import sasl_settings
    from barnabas.broker.security.sasl import plain
    from barnabas.protocol.security.scram import MECHANISMS

    check = f"SASL of {listener.name}"
    try:
        settings = sasl_settings(config, listener.name)
    except ConfigError as wrong:
        yield problem(check, str(wrong))
        return
    without = []
    if plain.NAME in settings.mechanisms and not settings.plain_users:
        without.append(plain.NAME)
        yield warning(check, "PLAIN has no users", 'name them in its sasl.jaas.config: user_NAME="PASSWORD"')
    numbers = {number for _, number in catalogue.scram} if catalogue is not None else set()
    for mechanism in MECHANISMS:
        if mechanism.name in settings.mechanisms and mechanism.number not in numbers and not adds_users:
            without.append(mechanism.name)
            option = f"--add-scram '{mechanism.name}=[name=NAME,password=PASSWORD]'"
            advice = f"barnabas serve {option} gives a user a password"
            yield warning(check, f"{mechanism.name} has no users in the data directory", advice)
    if len(without) == len(settings.mechanisms):
        yield problem(check, "no client can log in: none of its mechanisms has users")
    elif not without:
        yield ok(check, f"{', '.join(settings.mechanisms)} can be used to log in")
    if listener.protocol != SASL_SSL and plain.NAME in settings.mechanisms:
        yield note(check, "PLAIN sends passwords unencrypted, and this listener does not use TLS")


def _authorizer(config: BrokerConfig) -> Iterator[CheckResult]:
    from barnabas.broker.config.authorizer import super_users

    check = "authorizer"
    if not config.string("authorizer.class.name").strip():
        return
    found = super_users(config.text("super.users"))
    if found:
        yield ok(check, f"{', '.join(sorted(found))} may do everything")
    elif config.boolean("allow.everyone.if.no.acl.found"):
        yield note(check, "there are no super.users: a resource without ACLs is open to every user")
    else:
        text = "there are no super.users: a user may do only what an ACL in the data directory allows"
        yield warning(check, text, "set super.users=User:NAME, or no user can add the first ACL")
