"""The ports of the listeners: can they be bound, who holds them, and do the advertised addresses lead to them?

Theory of operation: a listener is bound as serve would bind it. If that works, and an address is advertised, the
doctor listens for a moment, connects to the advertised address with a random number, and checks whether the
connection arrives, through any proxies and mapped ports in between.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from contextlib import ExitStack
from typing import NamedTuple

from barnabas.broker.cli.doctor.finding import CheckResult, note, ok, problem, warning
from barnabas.broker.cli.doctor.processes import listening_processes, named
from barnabas.broker.cli.doctor.server_probe import ProbedBroker, probe
from barnabas.broker.config import BrokerConfig, Listener
from barnabas.broker.network.bound_sockets import BoundAddress, bind
from barnabas.client.addresses import Address
from barnabas.client.clock import ClientClock

_NUMBER_BYTES = 16
_LOOPBACK = ("127.", "::1", "localhost")
_MAP_EQUALLY = (
    "map the port to the same number, or set KAFKA_ADVERTISED_LISTENERS to the address that clients connect to"
)


class Arrival(NamedTuple):
    """The result of a connection to an advertised address."""

    is_here: bool
    reason: str


def examine(config: BrokerConfig, clock: ClientClock, timeout_ms: int) -> list[CheckResult]:
    """Check every listener of the configuration, and its advertised address. timeout_ms: for one address to answer."""
    findings = []
    listeners = config.listeners
    ports = [listener.port for listener in listeners]
    for listener in listeners:
        try:
            sockets = bind(listener.host, listener.port, alone=ports.count(listener.port) == 1)
        except OSError as error:
            found = _cannot_bind(f"listener {listener.name}", listener.host, listener.port, error)
            findings.append(_with_broker(found, listener, clock, timeout_ms))
            continue
        bound = BoundAddress(listener, config.advertised(listener), sockets)
        with ExitStack() as open_sockets:
            for each in sockets:
                open_sockets.enter_context(each)
            findings += _bindable(bound)
            findings.append(_advertised(bound, timeout_ms, is_container=config.is_container))
    return findings


def examine_http(host: str, port: int, check: str = "http") -> CheckResult:
    """Check an address for HTTP. check: its name, "http" or "registry"."""
    try:
        for each in bind(host, port):
            each.close()
    except OSError as error:
        return _cannot_bind(check, host, port, error)
    return ok(check, f"{Address(host, port)} is free")


def _cannot_bind(check: str, host: str, port: int, error: OSError) -> CheckResult:
    where = Address(host, port)
    if error.errno == errno.EADDRINUSE:
        holders = [named(pid) for pid in listening_processes(host, port)]
        text = f"{where} is in use by {' and '.join(holders) or 'a program that is not visible from here'}"
        return problem(check, text, "stop it, or choose another port (0 picks a free one)")
    if error.errno in (errno.EACCES, errno.EPERM):
        return problem(check, f"no permission to listen on {where}", "ports below 1024 belong to root")
    if error.errno == errno.EADDRNOTAVAIL:
        return problem(check, f"{where} is not an address of this machine", "an empty host means every interface")
    return problem(check, f"cannot listen on {where}: {error.strerror or error}")


def _with_broker(found: CheckResult, listener: Listener, clock: ClientClock, timeout_ms: int) -> CheckResult:
    """Return the finding with the cluster of the broker that already holds the port, if it is a broker."""
    host = "localhost" if listener.is_every_interface else listener.host
    probed = probe(Address(host, listener.port), clock, timeout_ms) if "in use" in found.text else None
    if not isinstance(probed, ProbedBroker):
        return found
    return found._replace(text=f"{found.text}: a broker of cluster {probed.cluster.cluster_id}")


def _bindable(bound: BoundAddress) -> list[CheckResult]:
    check, listener = f"listener {bound.listener.name}", bound.listener
    findings = [ok(check, f"{listener.address} is free")]
    if listener.host in ("127.0.0.1", "localhost") and len(bound.sockets) == 1 and listener.port:
        pids = listening_processes("::1", listener.port)
        if pids:
            text = f"[::1]:{listener.port} is in use by {named(pids[0])}: `localhost` may lead clients there"
            findings.append(warning(check, text, "clients should connect to 127.0.0.1"))
    return findings


def _advertised(bound: BoundAddress, timeout_ms: int, *, is_container: bool) -> CheckResult:
    check, advertised = f"advertised {bound.listener.name}", bound.advertised
    if advertised is None:
        text = "clients get the address that they connected to"
        if is_container:
            text += f"; those that connect to a mapped port get localhost:{bound.port}"
            return note(check, text, _MAP_EQUALLY)
        return ok(check, text)
    address = Address(advertised.host, advertised.port or bound.port)
    arrival = try_to_reach(bound.sockets, address, timeout_ms / 1000)
    if arrival.is_here:
        if advertised.host.startswith(_LOOPBACK) and bound.listener.is_every_interface:
            return note(check, f"{address} leads to this broker, but only for clients on this machine")
        return ok(check, f"{address} leads to this broker")
    text = f"{address} does not lead to the listener from here: {arrival.reason}"
    if is_container:
        advice = f"if it is for clients on other machines, run there: barnabas doctor --bootstrap-server {address}"
        return note(check, text, advice)
    return problem(check, text, "set advertised.listeners to an address that clients can connect to")


def try_to_reach(sockets: list[socket.socket], address: Address, timeout_s: float) -> Arrival:
    """Listen on bound sockets for a moment, and check whether a connection to the address arrives there."""
    for each in sockets:
        each.listen()
    number = os.urandom(_NUMBER_BYTES)
    try:
        connection = socket.create_connection(address, timeout=timeout_s)
    except socket.gaierror as error:
        return Arrival(False, f"{address.host} cannot be resolved ({(error.strerror or str(error)).lower()})")
    except UnicodeError:
        return Arrival(False, f"this cannot be the name of a host: {address.host}")
    except TimeoutError:
        return Arrival(False, "no response in time")
    except OSError as error:
        return Arrival(False, (error.strerror or str(error)).lower())
    with connection:
        connection.sendall(number)
        if _arrives(sockets, number, timeout_s):
            return Arrival(True, "")
    return Arrival(False, "another broker answers there")


def _arrives(sockets: list[socket.socket], number: bytes, timeout_s: float) -> bool:
    """Return whether a connection arrives that sends the number; others are closed."""
    while ready := select.select(sockets, [], [], timeout_s)[0]:
        arrived, _ = ready[0].accept()
        with arrived:
            arrived.settimeout(timeout_s)
            try:
                if arrived.recv(_NUMBER_BYTES, socket.MSG_WAITALL) == number:
                    return True
            except OSError:
                continue  # perhaps a client that was waiting for the port
    return False
