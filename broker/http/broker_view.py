"""The connection between a broker and its HTTP pages."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import MutableMapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.broker.http.pages import Page, Pages, StreamedPage
from barnabas.broker.http.server import HttpServer

if TYPE_CHECKING:
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.control.faults.faults import Faults
    from barnabas.broker.control.time_control.time_control import TimeControl
    from barnabas.broker.http.asgi import AsgiApp, Mounted, Receive, Send
    from barnabas.broker.http.compaction import Compaction
    from barnabas.broker.http.control.admission import Admission
    from barnabas.broker.http.registry.listener import RegistryListener
    from barnabas.broker.http.secured import HttpSecurity
    from barnabas.broker.http.served_node import ServedNode
    from barnabas.broker.insight.history.history import History
    from barnabas.broker.insight.why.why import Why
    from barnabas.broker.network.network import Network
    from barnabas.broker.partitions.recovery_pass import RecoveryPass
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Deferred, Services

_CONSOLE_BODY_BYTES_MAX = 1 << 20  # of a form, which may contain a record


class BrokerView(Protocol):
    """The parts of a broker that its pages use."""

    services: Services
    state: int
    """The state as a number of Kafka's: metrics/sources.py."""
    recovery: RecoveryPass
    time_control: Deferred[TimeControl]
    history: Deferred[History]
    faults: Deferred[Faults]
    registry: RegistryListener | None
    """The schema registry, if it is served."""

    @property
    def members(self) -> Sequence[ServedNode]:
        """The nodes of the broker."""

    def unready_reason(self) -> str | None:
        """Return why clients cannot work with it now, or None."""


def awaited(broker: BrokerView) -> list[str]:
    """Return what clients may wait for although the broker can be used, in words."""
    recovering = broker.recovery.progress
    return [*broker.services.disk_space.full_reasons, *([] if recovering is None else [str(recovering)])]


def _why(broker: BrokerView, history: History) -> Why:
    from barnabas.broker.insight.why.sources.armed_faults import ArmedFaults
    from barnabas.broker.insight.why.sources.trace_history import TraceHistory
    from barnabas.broker.insight.why.why import Why

    return Why(broker.services, TraceHistory(history), ArmedFaults(broker.faults), lambda: broker.registry)


def _control(broker: BrokerView, admission: Admission) -> Mounted:
    from barnabas.broker.http.asgi import Mounted, asgi
    from barnabas.broker.http.control.application import application
    from barnabas.broker.http.control.clock_api import clock_routes
    from barnabas.broker.http.control.describing import BODY_BYTES_MAX
    from barnabas.broker.http.control.faults_api import faults_routes
    from barnabas.broker.http.control.share_locks_api import share_locks_routes
    from barnabas.broker.http.control.trace_api import trace_routes
    from barnabas.broker.http.control.why_api import why_routes

    history = broker.history.get()  # it stores events from now on
    route_groups = [
        clock_routes(broker.time_control.get()),
        faults_routes(broker.faults.get()),
        share_locks_routes(broker.services),
        trace_routes(broker.history.get),
        why_routes(_why(broker, history)),
    ]
    return Mounted(b"/control", asgi(application(route_groups, admission)), BODY_BYTES_MAX)


def _console(broker: BrokerView, meter: Meter, clock: Clock, control: Admission | None, *, is_guarded: bool) -> Mounted:
    """Mount the console, which is loaded at its first request."""
    from barnabas.broker.http.asgi import Mounted, asgi

    application: AsgiApp | None = None

    async def console(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        nonlocal application
        if application is None:  # in a thread, since it takes a tenth of a second
            await asyncio.get_running_loop().run_in_executor(
                None, import_module, "barnabas.broker.http.console.application"
            )
        if application is None:
            from barnabas.broker.http.console.application import application as made
            from barnabas.broker.http.console.console_context import ConsoleContext
            from barnabas.broker.http.console.traffic import Traffic
            from barnabas.broker.http.control.admission import Admission

            history = None if control is None else broker.history.get()
            observed = ConsoleContext(
                services=broker.services,
                members=broker.members,
                time_control=broker.time_control,
                faults=broker.faults,
                unready_reason=broker.unready_reason,
                awaited=lambda: awaited(broker),
                clock=clock,
                may_change=control is not None,
                traffic=Traffic(broker.services, meter, clock),
                history=history,
                why=None if history is None else _why(broker, history),
                registry=lambda: broker.registry,
            )
            application = made(observed, Admission(is_guarded=True) if is_guarded else control or Admission())
        await application(scope, receive, send)

    return Mounted(b"/console", asgi(console), _CONSOLE_BODY_BYTES_MAX, gives_way=True)


async def open_http(
    broker: BrokerView,
    meter: Meter,
    sockets: Sequence[socket.socket],
    network: Network,
    clock: Clock,
    control: Admission | None = None,
    security: HttpSecurity | None = None,
) -> HttpServer:
    """Serve the broker's pages on bound sockets.

    clock: the machine's, for timeouts of peers and for a page's age. control: the access to changes, None if changes
    are not allowed. security: None if the port speaks plain HTTP; otherwise its guard has authorized every request that
    reaches a page.
    """

    async def scrape() -> bytes:
        from barnabas.broker.http.metrics.scrape import scrape
        from barnabas.broker.http.metrics.sources import Sources

        def connections() -> dict[int, int]:
            return {member.node_id: member.listener.connections_count for member in broker.members}

        sasl_listeners = [each for member in broker.members for each in member.sasl_listeners.values()]
        figures = None if broker.registry is None else broker.registry.figures()
        return await scrape(Sources(broker.services, meter, connections, lambda: broker.state, sasl_listeners, figures))

    compaction: Compaction | None = None

    def clean(query: str) -> Page | StreamedPage:
        nonlocal compaction
        if compaction is None:
            from barnabas.broker.http.compaction import Compaction

            compaction = Compaction(broker.services)
        return compaction.begin(query)

    def listeners() -> bytes:
        from barnabas.broker.http.listeners_page import whereabouts

        return whereabouts(broker.services.node.cluster_id, broker.members)

    pages = Pages(clock, broker.unready_reason, scrape, clean, lambda: awaited(broker), listeners)
    is_guarded = security is not None
    mounted = [_console(broker, meter, clock, control, is_guarded=is_guarded)]
    if control is not None:
        mounted.append(_control(broker, control._replace(is_guarded=is_guarded)))
    server = HttpServer(clock, pages, mounted, security)
    await server.listen(sockets, network)
    return server
