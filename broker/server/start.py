"""Starting a broker over its data directory: opened, prepared, its HTTP pages served, and then clients are accepted.

Its parts are composed in `broker.py`. A start that fails leaves the directory as a kill does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import address_text
from barnabas.broker.config.node_settings import set_http_address
from barnabas.broker.network.bound_sockets import BoundAddress
from barnabas.broker.partitions.flush.sync_rounds import SYNC_HELPERS_MAX
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.data_directories import open_directory, sockets_max
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.restored_clock import in_its_time
from barnabas.protocol.files.names import SEED_INCOMPLETE
from barnabas.storage.errors import NotADataDirectory

if TYPE_CHECKING:
    import socket

    from barnabas.broker.control.faults.model import FaultPlan
    from barnabas.broker.http.control.admission import Admission
    from barnabas.broker.http.secured import HttpSecurity
    from barnabas.broker.metadata.image.topic_changes import NewTopic
    from barnabas.broker.security.acl.acl import Acl
    from barnabas.broker.security.sasl.add_scram import NewUser
    from barnabas.broker.server.secure.directory import Security
    from barnabas.broker.server.seeding.reading import SeedSource
    from barnabas.broker.server.tls import Tls
    from barnabas.storage.directories.log_directories import LogDirectories


async def start_broker(
    config: BrokerConfig,
    bound: Sequence[BoundAddress],
    *,
    descriptor_limit: int,
    topics: Iterable[NewTopic] = (),
    features: Mapping[str, int] | None = None,
    users: Iterable[NewUser] = (),
    security: Security | None = None,
    granted: Sequence[Acl] = (),
    http: Sequence[socket.socket] = (),
    secures_http: bool = False,
    control: Admission | None = None,
    faults: FaultPlan | None = None,
    environment: Environment | None = None,
    others: Sequence[Sequence[BoundAddress]] = (),
    seed: SeedSource | None = None,
) -> Broker:
    """Start a broker over the configuration's directory, accepting connections on the running event loop.

    Before clients are accepted, `topics` that do not exist are created, `features` get their levels, `users` their
    passwords, and the users of `security` their rights, with those that are `granted`. `http`: bound sockets that serve
    the broker's state, from before it can be used until it has stopped; `secures_http`: with TLS and for users only.
    `control`: who may change its clock there, which must be movable, and arm faults. `faults`: armed from the start.
    `environment`: this machine's unless given. `others`: the listeners of the other nodes. `seed`: what a new
    directory holds. Raises CatalogueError, ConfigError, StorageError, KafkaError or SeedError with the reason if it
    fails; then the directory is as a kill leaves it, and a new one is removed again.
    """
    environment = environment or Environment()
    set_http_address(config, address_text(*http[0].getsockname()[:2]) if http else None)
    tls = _open_tls(config)
    directory = open_directory(config, environment.files, environment.random, descriptor_limit)
    try:
        _check_complete(directory)
        broker = Broker(
            config,
            directory,
            in_its_time(environment, directory.root),
            asyncio.get_running_loop(),
            bound,
            sockets_max=sockets_max(descriptor_limit, 1 + len(others)),
            sync_helpers_max=SYNC_HELPERS_MAX,
            others=others,
            tls=tls,
        )
        broker.catalogue.set_features(features or {})
        for user in users:
            broker.catalogue.users.give(user, environment.random)
        if security is not None:
            _grant(security, broker, directory.metadata.directory_id, granted)
        for topic in topics:
            if topic.name not in broker.catalogue.topics:
                broker.catalogue.create_topic(topic.name, topic.num_partitions, topic.configs)
        if faults is not None and seed is None:
            broker.faults.get().registry.arm(faults)
        if http:
            secured = _http_security(broker, tls, control, environment) if secures_http else None
            await broker.open_http(http, control, secured)
    except BaseException:
        directory.give_up()
        raise
    if seed is not None:
        await _start_seeded(broker, directory, seed, faults)
        return broker
    try:
        await broker.start()
    except BaseException:
        directory.close(clean=False)
        raise
    return broker


async def open_registry(broker: Broker, sockets: Sequence[socket.socket], *, secured: bool) -> None:
    """Serve the schema registry of a started broker on bound sockets. secured: with TLS and for users only.

    Raises ConfigError; then the directory is as a kill leaves it.
    """
    try:
        await broker.open_registry(sockets, secured=secured)
    except BaseException:
        broker.abandon()
        raise


async def _start_seeded(broker: Broker, directory: LogDirectories, seed: SeedSource, faults: FaultPlan | None) -> None:
    """Start the broker; a new directory gets the seed before clients are accepted, and before `faults` are armed.

    A start that fails leaves nothing of the seed: it releases everything, and a new directory is removed.
    """
    from barnabas.broker.server.seeding.first_start import seed_new

    async def apply_seed() -> None:
        await seed_new(broker.members, directory, seed, broker.services)
        if faults is not None:
            broker.faults.get().registry.arm(faults)

    try:
        await broker.start(apply_seed)
    except BaseException:
        broker.abandon(gives_up=True)
        raise


def _check_complete(directory: LogDirectories) -> None:
    """Raise NotADataDirectory if its broker was killed while it applied a seed."""
    if directory.root.exists(SEED_INCOMPLETE):
        reason = "the broker was killed while it applied a seed here: remove the directory, and start again"
        raise NotADataDirectory(directory.path, reason)


def _http_security(
    broker: Broker, tls: Tls | None, control: Admission | None, environment: Environment
) -> HttpSecurity:
    """Return the security of the HTTP port: the TLS and the users of the listeners. Raises ConfigError."""
    from barnabas.broker.http.secured import http_security

    endpoints, token = {} if tls is None else tls.endpoints, None if control is None else control.token
    sasl_listeners, clock = broker.members[0].sasl_listeners, environment.machine_clock
    return http_security(broker.services, endpoints, sasl_listeners, clock, token, environment.random)


def _grant(security: Security, broker: Broker, directory_id: bytes, granted: Sequence[Acl]) -> None:
    from barnabas.broker.server.secure.directory import keep_users
    from barnabas.broker.server.secure.grants import grant, grant_once

    assert broker.services.access is not None, "a secured broker has an authorizer"
    keep_users(security)
    grant_once(security, directory_id, broker.services.access.acls)
    grant(granted, broker.services.access.acls)


def _open_tls(config: BrokerConfig) -> Tls | None:
    """Return the TLS of the listeners; None if none uses TLS. Raises ConfigError."""
    if not any(listener.speaks_tls for listener in config.listeners):
        return None
    from barnabas.broker.server.tls import Tls

    return Tls(config)
