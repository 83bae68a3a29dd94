"""The composition root: a broker composed of its parts, which starts and stops.

The only place that knows every part. Order of a start: sockets (so that a port in use is reported first), data
directory, catalogue, partitions, coordinators, transactions that a killed run left incomplete, then listening. Order of
a stop: no new connections, transactions are completed, requests in flight are answered, timers end, everything is
synced, and the clean-shutdown marker is written last, if no transaction was left incomplete.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas import form
from barnabas.broker.api.api_table import offered_apis, table_for
from barnabas.broker.clients.quotas.node_quotas import NodeQuotas
from barnabas.broker.clients.telemetry import open_telemetry
from barnabas.broker.config import BrokerConfig
from barnabas.broker.control.faults import open_faults
from barnabas.broker.control.time_control import open_time_control
from barnabas.broker.coordinator.transaction.producer_ids import ProducerIds
from barnabas.broker.insight.history import open_history
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.cluster.node_view import NodeView
from barnabas.broker.network.bound_sockets import BoundAddress
from barnabas.broker.partitions.directory_reconciliation import reconcile_directories
from barnabas.broker.partitions.disk_space.directory_watch import DirectoryWatch
from barnabas.broker.partitions.disk_space.disk_space_watch import DiskSpaceWatch
from barnabas.broker.partitions.flush.group_flush import GroupFlush
from barnabas.broker.partitions.flush.roll_events import RollEvents
from barnabas.broker.partitions.flush.sync_rounds import SyncRounds
from barnabas.broker.partitions.housekeeping import Housekeeping
from barnabas.broker.partitions.partitions import Partitions
from barnabas.broker.partitions.produce.batch_validations import BatchValidations
from barnabas.broker.partitions.purgatory import Purgatory
from barnabas.broker.partitions.recovery_pass import RecoveryPass
from barnabas.broker.runtime.events import Events
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.broker.runtime.workers.workers import Workers
from barnabas.broker.server.access_and_tokens import open_access, open_tokens
from barnabas.broker.server.coordinators import Parts, deferred_coordinators
from barnabas.broker.server.data_directories import open_catalogue, state_of
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.maintenance import Maintenance, Needs
from barnabas.broker.server.nodes.broker_node import node_of, open_fetch_sessions
from barnabas.broker.server.nodes.local_nodes import LocalNodes
from barnabas.broker.server.preloading import preload
from barnabas.broker.server.share_partitions import deferred_burials, deferred_share_partitions
from barnabas.broker.services import Deferred, Services
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    import socket
    from concurrent.futures import ThreadPoolExecutor

    from barnabas.broker.control.faults.faults import Faults
    from barnabas.broker.control.time_control.time_control import TimeControl
    from barnabas.broker.http.control.admission import Admission
    from barnabas.broker.http.registry.listener import RegistryListener
    from barnabas.broker.http.secured import HttpSecurity
    from barnabas.broker.http.server import HttpServer
    from barnabas.broker.metadata.delegation_tokens.tokens import Tokens
    from barnabas.broker.network.socket_server import SocketServer
    from barnabas.broker.server.tls import Tls
    from barnabas.storage.directories.log_directories import LogDirectories

_log = logger("app")
_LOAD_TRANSACTIONS_MS = 1_000
STARTING, RUNNING, STOPPING = 1, 3, 6
"""Kafka's numbers of a broker's states."""


class Broker:
    """A running broker on one event loop."""

    _flush_thread: ThreadPoolExecutor | None = None
    _http: HttpServer | None = None
    registry: RegistryListener | None = None
    """The schema registry, if it is served."""

    def __init__(
        self,
        config: BrokerConfig,
        directory: LogDirectories,
        environment: Environment,
        loop: asyncio.AbstractEventLoop,
        bound: Sequence[BoundAddress],
        *,
        sockets_max: int = sys.maxsize,
        sync_helpers_max: int = 0,
        cluster: Callable[[int, Catalogue], NodeView] = NodeView,
        others: Sequence[Sequence[BoundAddress]] = (),
        tls: Tls | None = None,
    ) -> None:
        """Create the broker. It owns `directory`, which is open. Raises CatalogueError, StorageError.

        sockets_max: how many connections a node has descriptors for. sync_helpers_max: threads that sync files beside
        the flush thread. cluster: creates the node's view. others: listeners of other nodes. tls: TLS of all of them.
        """
        self.bound, self.state, self._tls = bound, STARTING, tls
        self._found = state_of(directory)
        self._directory, self._environment, self.events = directory, environment, Events(environment.stopwatch)
        self._clock, self._machine_clock = clock, machine_clock = environment.clock, environment.machine_clock
        self._loop, self.watch = loop, DirectoryWatch(directory, machine_clock)
        self.catalogue = open_catalogue(config, directory, environment, self.events)
        waiters, stopwatch, random_bytes = Purgatory(clock, loop), environment.stopwatch, environment.random
        slices, upkeep = CooperativeScheduler(loop, stopwatch), CooperativeScheduler(loop, stopwatch, rests=False)
        workers = Workers(loop, upkeep, environment.files, environment.helper_processes_max)
        rounds = SyncRounds(sync_helpers_max, directory.common_sync, stopwatch)
        self.flush = GroupFlush(loop, self._in_flush_thread, rounds, self.events, waiters.wake)
        in_cluster = cluster(directory.meta.node_id, self.catalogue)
        self._partitions = partitions = self._open_partitions(config, in_cluster, upkeep, workers, waiters)
        producer_ids = ProducerIds(self.catalogue.allocate_producer_ids)
        parts = self._parts(config, upkeep, producer_ids, waiters)
        tokens = open_tokens(config, self.catalogue, clock, random_bytes)
        self._maintenance = self._open_maintenance(parts, waiters, workers, tokens)
        self._housekeeping, self.disk_space = self._open_housekeeping(config, waiters, slices)
        self.services = Services(
            node=node_of(directory.meta, bound[0], config),
            cluster=in_cluster,
            config=config,
            clock=clock,
            catalogue=self.catalogue,
            partitions=partitions,
            led_by_any=partitions,
            deferred_moves=self._maintenance.moves,
            deferred_cleaner=self._maintenance.cleaner,
            deferred_share_partitions=deferred_share_partitions(
                lambda: self.services, lambda: partitions, deferred_burials()
            ),
            deferred_telemetry=Deferred(partial(open_telemetry, self.catalogue, config, random_bytes, machine_clock)),
            producer_ids=producer_ids,
            fetch_sessions=open_fetch_sessions(config, clock, random_bytes),
            purgatory=waiters,
            disk_space=self.disk_space,
            quotas=NodeQuotas(self.catalogue.client_quotas, config, clock, stopwatch),
            events=self.events,
            request_scheduler=slices,
            batch_validations=BatchValidations(slices),
            upkeep=upkeep,
            workers=workers,
            offered_apis=offered_apis(table_for(config)),
            access=open_access(config, self.catalogue, random_bytes, self.events),
            tokens=tokens,
            **deferred_coordinators(parts, partitions)._asdict(),
        )
        self.recovery = RecoveryPass(partitions, machine_clock, upkeep)
        self._nodes = nodes = self._open_nodes([bound, *others], parts, sockets_max)
        self.services, self.members = nodes.services, nodes.each
        self.shared_storage, self.lifecycle = nodes.shared_storage, nodes.lifecycle

    def _open_partitions(
        self,
        config: BrokerConfig,
        cluster: NodeView,
        upkeep: CooperativeScheduler,
        workers: Workers,
        waiters: Purgatory,
    ) -> Partitions:
        self._directory.when_rolls = RollEvents(self.events).emit
        return Partitions(
            self.catalogue,
            self._directory,
            config,
            cluster,
            clock=self._clock,
            machine_clock=self._machine_clock,
            upkeep=upkeep,
            workers=workers,
            waiters=waiters,
            flush=self.flush,
            random_bytes=self._environment.random,
        )

    def _parts(
        self, config: BrokerConfig, upkeep: CooperativeScheduler, producer_ids: ProducerIds, waiters: Purgatory
    ) -> Parts:
        return Parts(
            config=config,
            catalogue=self.catalogue,
            clock=self._clock,
            machine_clock=self._machine_clock,
            upkeep=upkeep,
            producer_ids=producer_ids,
            random_bytes=self._environment.random,
            events=self.events,
            after_answer=waiters.after_answer,
        )

    def _open_maintenance(
        self, parts: Parts, waiters: Purgatory, workers: Workers, tokens: Tokens | None
    ) -> Maintenance:
        needs = Needs(
            partitions=self._partitions,
            catalogue=parts.catalogue,
            config=parts.config,
            flush=self.flush,
            waiters=waiters,
            clock=parts.clock,
            machine_clock=parts.machine_clock,
            stopwatch=self._environment.stopwatch,
            loop=self._loop,
            upkeep=parts.upkeep,
            workers=workers,
            random_bytes=parts.random_bytes,
            events=parts.events,
            tokens=tokens,
        )
        return Maintenance(needs)

    def _open_housekeeping(
        self, config: BrokerConfig, waiters: Purgatory, slices: CooperativeScheduler
    ) -> tuple[Housekeeping, DiskSpaceWatch]:
        housekeeping = Housekeeping(
            self._partitions,
            config,
            clock=self._clock,
            machine_clock=self._machine_clock,
            loop=self._loop,
            waiters=waiters,
            slices=slices,
            flush=self.flush,
            run_in_thread=self._in_flush_thread,
            events=self.events,
        )
        room = DiskSpaceWatch(
            self._directory,
            self._partitions.open_logs,
            housekeeping,
            reserved_bytes=config.integer("barnabas.log.dir.reserved.bytes"),
            clock=self._clock,
            machine_clock=self._machine_clock,
            loop=self._loop,
        )
        self.catalogue.subscribe(room)
        self.history = Deferred(lambda: open_history(self.services, self._machine_clock))
        self.time_control = Deferred(partial(self._open_time_control, housekeeping))
        self.faults = Deferred(self._open_faults)
        return housekeeping, room

    def _open_time_control(self, housekeeping: Housekeeping) -> TimeControl:
        root = self._directory.root
        return open_time_control(self._clock, self._loop, self.services, housekeeping, self.flush, root)

    def _open_nodes(self, bound: Sequence[Sequence[BoundAddress]], parts: Parts, sockets_max: int) -> LocalNodes:
        tls = {} if self._tls is None else self._tls.endpoints
        root, environment = self._directory.root, self._environment
        return LocalNodes(self.services, bound, parts, self.flush, root, environment, tls, sockets_max)

    def _open_faults(self) -> Faults:
        return open_faults(
            self.members,
            self._loop,
            self._machine_clock,
            self.events,
            disks=[each.root.disk for each in self._directory.every],
            may_crash=self._environment.owns_process,
        )

    @property
    def listener(self) -> SocketServer:
        """The listener that accepts the first node's connections."""
        return self.members[0].listener

    async def start(self, before_listening: Callable[[], Awaitable[None]] | None = None) -> None:
        """Accept connections. Clients of each listener get its advertised address.

        before_listening: done when all state is there, before the first client can connect.
        """
        self.recovery.watch()
        reconcile_directories(self.services.partitions, self._directory, self.catalogue)
        for notice in self._directory.notices:
            _log.warning(notice)
        self.disk_space.start()
        await self.settle_transactions()
        if before_listening is not None:
            await before_listening()
        if self._tls is not None:
            self._tls.begin(self._machine_clock, self._loop)
        dispatcher = await self._nodes.listen()
        self._housekeeping.start()
        self._maintenance.start()
        self.recovery.begin()
        self.watch.start()
        self.state = RUNNING
        preload(dispatcher, self._machine_clock)
        node, facts = self.services.node, {"found": self._found, "form": form.running()}
        at = {"cluster": node.cluster_id, "data": self._directory.path}
        _log.info(line("broker started", node=node.node_id, **at, **facts))

    async def open_http(
        self, sockets: Sequence[socket.socket], control: Admission | None = None, security: HttpSecurity | None = None
    ) -> None:
        """Serve the broker's state and metrics over HTTP, and the requests `control` admits. Call before `start`."""
        from barnabas.broker.api.stages.metering import Meter
        from barnabas.broker.http.broker_view import open_http

        stopwatch, network = self._environment.stopwatch, self._environment.network
        self._nodes.meter = meter = Meter(lambda: int(stopwatch() * 1e9))
        self._http = await open_http(self, meter, sockets, network, self._machine_clock, control, security)

    async def open_registry(self, sockets: Sequence[socket.socket], *, secured: bool) -> None:
        """Serve the schema registry. secured: with TLS and for users only. Call after `start`. Raises ConfigError."""
        from barnabas.broker.http.registry.listener import open_registry
        from barnabas.broker.http.registry.rights import registry_security

        network, clock, security = self._environment.network, self._machine_clock, None
        if secured:
            endpoints = {} if self._tls is None else self._tls.endpoints
            listeners, random_bytes = self.members[0].sasl_listeners, self._environment.random
            security = registry_security(self.services, endpoints, listeners, clock, random_bytes)
        self.registry = await open_registry(self.services, sockets, network, clock, security)

    def _close_http(self) -> None:
        if self.history.built is not None:
            self.history.built.close()
        if self.registry is not None:
            self.registry.close()
        if self._http is not None:
            self._http.close()

    def unready_reason(self) -> str | None:
        """Return why clients cannot work with this broker now, or None."""
        if self.state == RUNNING:
            return self._directory.offline_reason
        return f"the broker is starting{self.recovery.awaited}" if self.state == STARTING else "the broker is stopping"

    async def settle_transactions(self) -> None:
        """Complete the transactions that a killed run left prepared, before any read; after a clean stop load later.

        So a reader never sees a part of a transaction, and a transaction that no producer continues is aborted by its
        timeout.
        """
        if TRANSACTION_STATE_TOPIC not in self.catalogue.topics:
            return
        if self._directory.was_clean:
            self._machine_clock.call_later(_LOAD_TRANSACTIONS_MS, self._load_transactions)
        else:
            await self._nodes.recover_transactions()

    def _load_transactions(self) -> None:
        if self.state != STOPPING:
            self._nodes.load_transactions()

    async def stop(self) -> None:
        """Stop cleanly. Raise StorageError if the disk failed: there is no clean-shutdown marker then.

        Nor is there one while a transaction is prepared and not complete, so that the next start completes it first.
        """
        self.state = STOPPING
        if self.lifecycle is not None:
            await self.lifecycle.settled()
        self._nodes.stop_accepting()
        self._take_faults_back()
        self._housekeeping.stop()
        self.recovery.stop()
        self.services.partitions.stop_recovering()
        self.services.workers.close()
        self._maintenance.close()
        self._close_doors()
        self.watch.stop()
        self.disk_space.stop()
        are_finished = await self._nodes.finish_transactions()
        self._nodes.close_coordinators()
        self.services.purgatory.wake_all()
        await self._nodes.drain()
        await self.thread_is_idle()
        self._close_partitions()  # a request of a disconnected client may still be about to append
        self._give_up_slices()
        self.flush.close()
        if self._flush_thread is not None:
            self._flush_thread.shutdown()
        is_noted = False
        try:
            if self.time_control.built is not None:
                self.time_control.built.close()
            self.catalogue.close()
            is_noted = are_finished
        finally:
            self._directory.close(clean=True, broker_epoch=self.catalogue.broker_epoch, leave_marker=is_noted)
            self._close_http()
        _log.info(line("broker stopped"))

    def abandon(self, *, gives_up: bool = False) -> None:
        """Release everything, as a kill does: nothing is completed, synced or marked. Then the event loop must end.

        gives_up: remove also the files in a directory that was empty before the start.
        """
        self._close_http()
        self._take_faults_back()
        self._nodes.abort()
        self._housekeeping.stop()
        self.recovery.stop()
        self.services.partitions.stop_recovering()
        self.services.workers.close_now()
        self._maintenance.close()
        self._close_doors()
        self.watch.stop()
        self.disk_space.stop()
        self._close_partitions()
        self._give_up_slices()
        if self._flush_thread is not None:
            self._flush_thread.shutdown()
        self.flush.close()  # after the last round of syncs
        if gives_up:
            self._directory.give_up()
        else:
            self._directory.close(clean=False)

    def _close_doors(self) -> None:
        self._nodes.close_sasl_listeners()
        if self._tls is not None:
            self._tls.close()

    def _take_faults_back(self) -> None:
        """Remove all faults, so that nothing is delayed any more, and the disks have their own files."""
        if self.faults.built is not None:
            self.faults.built.registry.close()

    def _close_partitions(self) -> None:
        self._partitions.close_all()
        self._nodes.close_partitions()

    def _give_up_slices(self) -> None:
        self.services.request_scheduler.close()
        self.services.upkeep.close()

    async def thread_is_idle(self) -> None:
        """Wait until nothing is being synced, checkpointed or removed, and all helper processes have ended."""
        await self.services.workers.ended()
        while self.flush.is_busy or self._housekeeping.is_in_thread:
            await self._in_flush_thread(lambda: None)  # returns after the thread's current work
            await self.services.request_scheduler.next_turn()  # in which the result of that is processed
        while (
            self.services.partitions.recoveries.is_syncing
            or self._maintenance.is_busy
            or self._housekeeping.removals.is_in_thread
        ):
            await self._loop.run_in_executor(None, lambda: None)
            await self.services.request_scheduler.next_turn()

    def _in_flush_thread(self, action: Callable[[], Any]) -> asyncio.Future[Any]:
        if self._flush_thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._flush_thread = ThreadPoolExecutor(1, "flush")
        return self._loop.run_in_executor(self._flush_thread, action)
