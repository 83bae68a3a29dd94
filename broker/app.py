"""The composition root: builds a broker from its parts, starts it, stops it.

The only place that knows every part. Order of a start: sockets (so that a port in use is said first), data directory,
catalogue, partitions, coordinators, transactions a killed run left half finished, then listening. Order of a stop: no
new connections, transactions are finished, what is in flight is answered, timers end, everything is synced, and the
clean-shutdown marker is written last.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from broker.api.dispatch import Dispatcher
from broker.api.table import API_TABLE, offered_apis, table_for
from broker.catalogue import Catalogue
from broker.clock import Clock, SystemClock
from broker.config import BrokerConfig
from broker.context import Deferred, Node, Services
from broker.coordinator.producer_ids import ProducerIds
from broker.fetch_sessions import FetchSessions
from broker.flushing import GroupFlush
from broker.housekeeping import Housekeeping
from broker.log_lines import line, logger
from broker.net.listener import Listener, bind
from broker.partitions import Partitions
from broker.waiters import Waiters
from protocol.files.names import CLUSTER_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, partition_directory
from storage.files import RealFiles
from storage.log_directory import LogDirectory

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from broker.catalogue.topics import NewTopic
    from broker.config.listeners import Listener as Address
    from broker.coordinator import GroupCoordinator, TransactionCoordinator
    from storage.files import Files

_log = logger("app")
_DRAIN_MS = 1_500
_PRELOAD_PAUSE_MS = 20
_LOAD_TRANSACTIONS_MS = 1_000
_PRELOADED = ("api_versions", "metadata", "produce", "fetch", "init_producer_id", "list_offsets", "find_coordinator")
_OTHER_DESCRIPTORS = 32  # the loop's, the lock, checkpoints while they are written, modules while they are read
_SOCKETS_SHARE = 2  # one descriptor in two is for connections, the others for segments
_SYNC_HELPERS_MAX = 8  # one after another, each file costs a commit of the file system's journal


class BoundAddress(NamedTuple):
    """A listener of the configuration, with the sockets that serve it."""

    listener: Address
    advertised: Address
    sockets: list[socket.socket]

    @property
    def port(self) -> int:
        """The port, also when 0 was asked for."""
        port: int = self.sockets[0].getsockname()[1]
        return port


def bind_listeners(config: BrokerConfig) -> list[BoundAddress]:
    """Sockets for every listener of the configuration. OSError names the address it fails for in `filename`."""
    bound: list[BoundAddress] = []
    try:
        for listener, advertised in zip(config.listeners, config.advertised_listeners, strict=True):
            try:
                bound.append(BoundAddress(listener, advertised, bind(listener.host, listener.port)))
            except OSError as error:
                error.filename = f"{listener.host}:{listener.port}"
                raise
    except OSError:
        for each in bound:
            close_sockets(each)
        raise
    return bound


def close_sockets(bound: BoundAddress) -> None:
    """Give the address back."""
    for each in bound.sockets:
        each.close()


class Broker:
    """A running broker on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        directory: LogDirectory,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        random_bytes: Callable[[int], bytes],
        bound: Sequence[BoundAddress],
        *,
        sockets_max: int = sys.maxsize,
        sync_helpers_max: int = 0,
    ) -> None:
        """`directory` is open and belongs to the broker from now on. CatalogueError, StorageError.

        sockets_max: how many connections there are descriptors for. sync_helpers_max: threads that sync files beside
        the flush thread.
        """
        self.bound = bound
        self._directory = directory
        self._clock = clock
        self._loop = loop
        self._flush_thread: ThreadPoolExecutor | None = None
        assert directory.meta.directory_id is not None, "a directory is given an id when it is opened"
        self.catalogue = Catalogue.open(
            directory.root.subdirectory(partition_directory(CLUSTER_METADATA_TOPIC, 0)),
            node_id=directory.meta.node_id,
            directory_id=directory.meta.directory_id,
            config=config,
            now_ms=clock.now_ms,
            random_bytes=random_bytes,
        )
        waiters = Waiters(clock, loop)
        self.flush = flush = GroupFlush(loop, self._in_flush_thread, sync_helpers_max)
        partitions = Partitions(self.catalogue, directory, config, clock, waiters, flush, random_bytes)
        self.services = Services(
            node=self._node(bound[0]),
            config=config,
            clock=clock,
            catalogue=self.catalogue,
            partitions=partitions,
            deferred_groups=Deferred(lambda: self._open_groups(partitions, random_bytes)),
            deferred_transactions=Deferred(lambda: self._open_transactions(partitions)),
            producer_ids=ProducerIds(self.catalogue.allocate_producer_ids),
            fetch_sessions=FetchSessions(
                lambda: config.integer("max.incremental.fetch.session.cache.slots"),
                clock,
                lambda: int.from_bytes(random_bytes(4), "big") & 0x7FFF_FFFF or 1,
            ),
            waiters=waiters,
            offered_apis=offered_apis(table_for(config)),
        )
        self._housekeeping = Housekeeping(partitions, config, clock, waiters, flush, self._in_flush_thread)
        self.listener = Listener(
            clock,
            request_bytes_max=config.integer("socket.request.max.bytes"),
            queued_bytes_max=config.integer("queued.max.request.bytes"),
            connections_max=lambda: config.integer("max.connections"),
            connections_idle_ms_max=config.integer("connections.max.idle.ms"),
            sockets_max=sockets_max,
        )

    def _open_groups(self, partitions: Partitions, random_bytes: Callable[[int], bytes]) -> GroupCoordinator:
        from broker.coordinator.groups import GroupCoordinator  # thirty milliseconds that a start need not wait for

        return GroupCoordinator.open(
            self.services.config,
            catalogue=self.catalogue,
            partitions=partitions,
            clock=self._clock,
            loop=self._loop,
            random_bytes=random_bytes,
        )

    def _open_transactions(self, partitions: Partitions) -> TransactionCoordinator:
        from broker.coordinator.transactions import TransactionCoordinator

        return TransactionCoordinator.open(
            self.services.config,
            catalogue=self.catalogue,
            partitions=partitions,
            offsets=self.services.deferred_groups.get,
            clock=self._clock,
            loop=self._loop,
            fresh_producer_id=self.services.producer_ids.next,
        )

    def _node(self, bound: BoundAddress) -> Node:
        meta, advertised = self._directory.meta, bound.advertised
        return Node(meta.node_id, meta.cluster_id, advertised.host, advertised.port or bound.port)

    async def start(self) -> None:
        """Accept connections. Clients of each listener are told that listener's advertised address."""
        self.services.partitions.set_strays_aside()
        for notice in self._directory.notices:
            _log.warning(notice)
        await self.settle_transactions()
        dispatchers = []
        for bound in self.bound:
            dispatcher = Dispatcher(replace(self.services, node=self._node(bound)))
            await self.listener.listen(bound.sockets, dispatcher)
            dispatchers.append(dispatcher)
        self.listener.watch_idle()
        self._housekeeping.start()
        self._preload(dispatchers[0], [row for row in API_TABLE if row.handler in _PRELOADED])
        _log.info(
            line(
                "broker started",
                node=self.services.node.node_id,
                cluster=self.services.node.cluster_id,
                data=self._directory.path,
                found=_state_of(self._directory),
            )
        )

    async def settle_transactions(self) -> None:
        """Finish what a killed run left prepared, before anybody reads; after a clean stop only look, in time.

        So a reader never sees a part of a transaction, and what nobody goes on with is aborted by its timeout.
        """
        if TRANSACTION_STATE_TOPIC not in self.catalogue.topics:
            return
        if self._directory.was_clean:
            self._clock.call_later(_LOAD_TRANSACTIONS_MS, lambda: self.services.transactions.load_in_background())
        else:
            await self.services.transactions.recover()

    async def stop(self) -> None:
        """A clean stop. StorageError when the disk failed: there is no clean-shutdown marker then."""
        self.listener.stop_accepting()
        self._housekeeping.stop()
        if self.services.deferred_transactions.built is not None:
            await self.services.transactions.finish_all()
            self.services.transactions.close()
        if self.services.deferred_groups.built is not None:
            self.services.groups.close()
        self.services.waiters.wake_all()
        await self.listener.drain(_DRAIN_MS)
        await self.thread_is_idle()
        self.flush.close()
        if self._flush_thread is not None:
            self._flush_thread.shutdown()
        try:
            self.catalogue.close()
        finally:
            self._directory.close(clean=True, broker_epoch=self.catalogue.broker_epoch)
        _log.info(line("broker stopped"))

    def abandon(self) -> None:
        """Let go of everything, as a kill does: nothing is finished, synced or marked. The loop has to end after it."""
        self.listener.stop_accepting()
        self.listener.abort()
        self._housekeeping.stop()
        self.flush.close()
        if self._flush_thread is not None:
            self._flush_thread.shutdown()
        self._directory.close(clean=False)

    async def thread_is_idle(self) -> None:
        """Wait until nothing is being synced or checkpointed."""
        while self.flush.is_busy or self._housekeeping.is_checkpointing:
            await self._in_flush_thread(lambda: None)  # comes back after what the thread is at now

    def _preload(self, dispatcher: Dispatcher, rows: list[Any]) -> None:
        """Import what the first client will need while nobody waits for it, one API at a time."""
        if rows:
            self._clock.call_later(_PRELOAD_PAUSE_MS, lambda: self._preload_first(dispatcher, rows))

    def _preload_first(self, dispatcher: Dispatcher, rows: list[Any]) -> None:
        dispatcher.preload(rows[0])
        self._preload(dispatcher, rows[1:])

    def _in_flush_thread(self, action: Callable[[], Any]) -> asyncio.Future[Any]:
        if self._flush_thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._flush_thread = ThreadPoolExecutor(1, "flush")
        return self._loop.run_in_executor(self._flush_thread, action)


async def start_broker(
    config: BrokerConfig,
    bound: Sequence[BoundAddress],
    *,
    descriptor_limit: int,
    topics: Iterable[NewTopic] = (),
    features: Mapping[str, int] | None = None,
) -> Broker:
    """A broker over the configuration's directory that accepts connections, on the running loop.

    `topics` are created unless they are there, `features` given their levels, before anybody is let in. CatalogueError,
    StorageError and KafkaError say why it cannot be; then the directory is as a kill leaves it.
    """
    loop = asyncio.get_running_loop()
    clock = SystemClock(loop, lambda error: _log.error(line("timer failed", error=repr(error)), exc_info=error))
    directory = open_directory(config, RealFiles(), os.urandom, descriptor_limit)
    try:
        broker = Broker(
            config,
            directory,
            clock,
            loop,
            os.urandom,
            bound,
            sockets_max=sockets_max(descriptor_limit),
            sync_helpers_max=_SYNC_HELPERS_MAX,
        )
        broker.catalogue.set_features(features or {})
        for topic in topics:
            if topic.name not in broker.catalogue.topics:
                broker.catalogue.create_topic(topic.name, topic.num_partitions, topic.configs)
        await broker.start()
    except BaseException:
        directory.close(clean=False)
        raise
    return broker


def open_files_max(descriptor_limit: int) -> int:
    """How many segment files may be open at a time under the process's limit of descriptors."""
    return max(16, (descriptor_limit - _OTHER_DESCRIPTORS) // _SOCKETS_SHARE)


def sockets_max(descriptor_limit: int) -> int:
    """How many connections there may be, so that a segment file can always be opened and a module imported."""
    return max(16, descriptor_limit - open_files_max(descriptor_limit) - _OTHER_DESCRIPTORS)


def open_directory(
    config: BrokerConfig, files: Files, random_bytes: Callable[[int], bytes], limit: int
) -> LogDirectory:
    """The data directory the configuration names. StorageError says in a sentence why it cannot be had."""
    return LogDirectory.open(
        config.data_dir,
        files,
        node_id=config.node_id,
        new_id=lambda: random_bytes(16),
        open_files_max=open_files_max(limit),
    )


def _state_of(directory: LogDirectory) -> str:
    """How the run before left the directory, in a word."""
    if directory.was_clean:
        return "stopped"
    return "killed" if directory.partitions else "empty"
