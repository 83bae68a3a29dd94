"""`barnabas serve`: run a broker until a signal stops it.

The first line on stdout is printed when clients can connect: `barnabas ready HOST:PORT[,…] data=D`,
followed by ` http=HOST:PORT` if --http is given, and ` registry=HOST:PORT` with --registry. Logs go to stderr.

SIGTERM and SIGINT stop it cleanly, exit status 0; a second one stops it at once without a clean-shutdown marker,
so that the next start checks the logs.

A fast start is a feature: nothing is imported that the first answer does not need.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.broker.cli.serving.serve_options import (
    Options,
    Wishes,
    brokers_count,
    control_admission,
    fault_plan,
    http_addresses,
    listener_advice,
    load,
    owns_listener,
    parse,
    registry_address,
    secures_http,
    seed_source,
    table_text,
    wishes,
)
from barnabas.broker.cli.terminal.failures import UsageError

if TYPE_CHECKING:
    import socket

    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.control.faults.model import FaultPlan
    from barnabas.broker.http.control.admission import Admission
    from barnabas.broker.network.bound_sockets import BoundAddress
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.server.secure.directory import Security
    from barnabas.broker.server.seeding.reading import SeedSource

_KAFKAS_LINES = """\
[BrokerLifecycleManager id={node_id}] Transitioning from RECOVERY to RUNNING
[KafkaServer id={node_id}] started
Kafka Server started"""
"""Lines in the log of a container that test libraries for Kafka's images wait for: any, by library and version."""


def run(arguments: Sequence[str]) -> int:
    """Serve until stopped; return the exit status."""
    if any(word in ("--help", "-h") for word in arguments):
        print(_help())
        return 0
    options = parse(arguments)
    if not options.get("--ephemeral"):
        return _serve(options)
    from barnabas.broker.cli.serving.ephemeral import EphemeralDirectory

    with EphemeralDirectory() as ephemeral:
        there = {"--data-dir": [os.path.join(ephemeral.path, "data")]}
        return _serve({**options, **there, "--set": [*options.get("--set", []), "metadata.log.dir="]})


def _serve(options: Options) -> int:
    from barnabas.broker.network.bound_sockets import bind_nodes, close_sockets
    from barnabas.broker.runtime import log_lines

    log_lines.configure(options.get("--log-level", ["info"])[-1], log_format=options.get("--log-format", ["text"])[-1])
    wished, addresses, count = wishes(options, os.environ), http_addresses(options), brokers_count(options)
    control, has_secured_http = control_admission(options, os.environ), secures_http(options)
    config, security = _config(options)
    faults, seed = fault_plan(options, config), seed_source(options)
    bound: list[list[BoundAddress]] = []
    try:
        http, registry = _bind_http(addresses), _bind_registry(options)
        bound = bind_nodes(config, count)
    except OSError as error:
        print(f"barnabas: {_cannot_listen(error, options)}", file=sys.stderr)
        return 1
    except ValueError as error:
        raise UsageError(f"serve: --brokers {count}: {error}") from error
    loop = _new_loop()
    asyncio.set_event_loop(loop)
    try:
        ends_with_stdin = "--stop-with-stdin" in options
        if security is not None:
            _save_client_settings(security, bound)
        running = _run(
            config,
            bound,
            wished,
            http,
            registry,
            control,
            faults,
            security,
            seed,
            has_secured_http=has_secured_http,
            has_console="--console" in options,
            ends_with_stdin=ends_with_stdin,
        )
        return loop.run_until_complete(running)
    finally:
        for each in itertools.chain.from_iterable(bound):
            close_sockets(each)
        for sock in (*http, *registry):
            sock.close()
        asyncio.set_event_loop(None)
        loop.close()


def _config(options: Options) -> tuple[BrokerConfig, Security | None]:
    """Return the configuration, and with --secure the security directory that it uses."""
    from barnabas.broker.runtime import patterns
    from barnabas.broker.runtime.log_lines import line, logger

    loaded, security = load(options, os.environ), None
    if "--secure" in options:
        security, settings = _secured(loaded.config, renames=owns_listener(options, loaded.config))
        loaded = load(options, os.environ, settings)
    for warning in (*loaded.warnings, *([] if patterns.is_available() else [patterns.MISSING])):
        logger("config").warning(line(warning))
    return loaded.config, security


def _secured(config: BrokerConfig, *, renames: bool) -> tuple[Security, Mapping[str, str]]:
    """Open or make the security directory; return it with its settings, see `settings_for`."""
    from barnabas.broker.runtime.clock import wall_ms

    try:
        from barnabas.broker.server.secure.secure_config import open_for, settings_for
    except ImportError as missing:
        raise UsageError("serve: --secure needs the package cryptography: pip install 'barnabas[secure]'") from missing
    security = open_for(config, wall_ms(), os.urandom)
    return security, settings_for(security, config, renames=renames)


def _save_client_settings(security: Security, bound: Sequence[Sequence[BoundAddress]]) -> None:
    from barnabas.broker.server.secure.secure_config import bootstrap_of, write_client_settings

    write_client_settings(security, bootstrap_of(itertools.chain.from_iterable(bound)))


def _bind_http(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """Bind the first of these HTTP addresses that is free. OSError has the address in `filename`."""
    from barnabas.broker.network.bound_sockets import bind

    for host, port in addresses:
        try:
            return bind(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and (host, port) != addresses[-1]:
                continue
            error.filename = f"--http {host}:{port}"
            raise
    return []


def _bind_registry(options: Options) -> list[socket.socket]:
    """Bind the address of the schema registry, if there is one. OSError likewise."""
    address = registry_address(options)
    if address is None:
        return []
    from barnabas.broker.network.bound_sockets import bind

    try:
        return bind(*address)
    except OSError as error:
        error.filename = f"--registry {address[0]}:{address[1]}"
        raise


def _cannot_listen(error: OSError, options: Options) -> str:
    address = error.filename
    if error.errno == errno.EADDRINUSE:
        if address.startswith(("--http ", "--registry ")):
            option = address.partition(" ")[0]
            return f"{address} is in use by another program ({option} picks another port, with port 0 a free one)"
        return f"{address} is in use by another program ({listener_advice(options, os.environ)})"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"no permission to listen on {address}"
    return f"cannot listen on {address}: {error.strerror or error}"


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, or the standard library's if uvloop is missing."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def _run(
    config: BrokerConfig,
    bound: list[list[BoundAddress]],
    wished: Wishes,
    http: list[socket.socket],
    registry: list[socket.socket],
    control: Admission | None,
    faults: FaultPlan | None,
    security: Security | None,
    seed: SeedSource | None,
    *,
    has_secured_http: bool,
    has_console: bool,
    ends_with_stdin: bool,
) -> int:
    from barnabas.broker.config.listeners.listeners import address_text
    from barnabas.broker.metadata.image.topic_changes import NewTopic
    from barnabas.broker.runtime.workers.helper import helper_processes_max
    from barnabas.broker.server.environment import Environment
    from barnabas.broker.server.start import open_registry, start_broker
    from barnabas.storage.disk.files import raise_descriptor_limit

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(
            number, lambda: os._exit(1) if stopping.is_set() else stopping.set()
        )
    environment = Environment(helper_processes_max=helper_processes_max())
    if control is not None:
        from barnabas.broker.server.restored_clock import movable

        environment = movable(environment)
    broker = await start_broker(
        config,
        bound[0],
        descriptor_limit=raise_descriptor_limit(),
        topics=[NewTopic(name, partitions) for name, partitions in wished.topics],
        features=wished.features,
        users=wished.users,
        security=security,
        http=http,
        secures_http=has_secured_http,
        control=control,
        faults=faults,
        environment=environment,
        others=bound[1:],
        seed=seed,
    )
    if registry:
        await open_registry(broker, registry, secured=has_secured_http)
    broker.watch.when_failed = stopping.set
    addresses = ",".join(each.address for each in itertools.chain.from_iterable(bound))
    http_at = address_text(*http[0].getsockname()[:2]) if http else None
    ready_line = f"barnabas ready {addresses} data={','.join(config.data_dirs)}"
    registry_at = address_text(*registry[0].getsockname()[:2]) if registry else None
    further = [f" http={http_at}" if http_at else "", f" registry={registry_at}" if registry_at else ""]
    lines = ["".join([ready_line, *further])]
    if security is not None:
        lines.append(f"barnabas secured: settings for clients, and the users, are in {security.path}")
    if config.is_container:
        lines.append(_KAFKAS_LINES.format(node_id=config.node_id))
    print("\n".join(lines), flush=True)  # at once: a script that sees the first line may read the others
    if http_at and has_console and sys.stderr.isatty():
        print(f"barnabas console: {'https' if has_secured_http else 'http'}://{http_at}/console", file=sys.stderr)
    if ends_with_stdin:
        _stop_with_stdin(asyncio.get_running_loop(), stopping)
    _keep_collections_short(environment.machine_clock)
    await stopping.wait()
    await broker.stop()
    return 0


def _keep_collections_short(clock: Clock) -> None:
    from barnabas.broker.runtime.garbage_collection import GarbageCollection

    GarbageCollection(clock).start()


def _stop_with_stdin(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    """Stop the broker when stdin ends. Uses a thread, since stdin may be a file, which event loops cannot watch."""
    from threading import Thread

    def read() -> None:
        with suppress(OSError):  # a stdin that cannot be read has ended, too
            while sys.stdin is not None and os.read(sys.stdin.fileno(), 1 << 16):
                pass
        with suppress(RuntimeError):  # the loop is closed: the broker is already stopping
            loop.call_soon_threadsafe(stopping.set)

    Thread(target=read, name="stdin", daemon=True).start()


def _help() -> str:
    return f"""\
usage: barnabas serve [OPTION …]

Run a broker. `barnabas ready HOST:PORT data=DIR` on stdout says that clients can connect; logs go to stderr.
SIGTERM and SIGINT stop it cleanly, a second one at once.

options:
{table_text()}

Flags override --set, --set overrides KAFKA_* environment variables, these override the file."""
