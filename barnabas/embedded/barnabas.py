"""`Barnabas`: a broker as an object. Started, used, killed and restarted by a test.

    with Barnabas(topics={"orders": 3}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

The broker runs in its own process from this process's pool, or in a thread (`in_process=True`). Every call waits
for its answer, which takes milliseconds; a broker never runs on the caller's event loop, so async code may call it too,
and `async with` starts and ends it beside the loop. Calls from several threads take turns.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any, Self

from barnabas.embedded.answers import (
    OpenTransaction,
    PartitionOffsets,
    Record,
    SharedGroup,
    SharedRange,
    Transaction,
    shared_group,
)
from barnabas.embedded.crashes import Crash, crash_in
from barnabas.embedded.errors import BarnabasError, BarnabasWarning, Crashed, NotRunning
from barnabas.embedded.handles.clock import ClockHandle
from barnabas.embedded.handles.faults import FaultsHandle
from barnabas.embedded.handles.trace import Trace
from barnabas.embedded.handles.why import WhyHandle
from barnabas.embedded.revival import Revival
from barnabas.embedded.running import ANSWER_TIMEOUT_S, Running
from barnabas.embedded.settings import Grants, SeedDocument, Topics, Wire, checked, texts
from barnabas.embedded.snapshots import Snapshot, replace_directory

_REMEMBERED_LOG = 1 << 16  # characters, once the broker and its directory are gone
_LAST_LINES = 10
ISOLATION_LEVELS = ("read_committed", "read_uncommitted")


class Barnabas:
    """A Kafka-compatible broker for tests. Nothing is started before `start`, `with` or `async with`."""

    def __init__(
        self,
        *,
        topics: Topics | None = None,
        config: Mapping[str, object] | None = None,
        features: Mapping[str, int] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        in_process: bool = False,
        log_level: str = "info",
        brokers: int = 1,
        secure: bool = False,
        users: Mapping[str, str] | None = None,
        grants: Grants | None = None,
        seed: SeedDocument | None = None,
        registry: bool = False,
    ) -> None:
        """Check the settings, and start nothing yet. Raises ValueError or TypeError for invalid settings.

        topics: present from the start: {"orders": 3}, {"orders": Topic(3, {"retention.ms": -1})} or ["orders"]. config:
        broker keys under Kafka's names.   features: levels, {"transaction.version": 1}. data_dir: where the data are
        stored; by default in a temporary directory that is removed at the end. port: 0 takes a free one, which stays
        the same over restarts.   in_process: in a thread of this process. brokers: the number of nodes, on as many
        ports, so that leaders and coordinators can move. secure: accept SASL_SSL only, like `serve --secure`; see
        `client_settings`. users: further users with their passwords, {"alice": "wonderland"}; with data_dir they are
        stored beside it, in DATA_DIR.security/users.properties. grants: their permissions, {"alice": ["--consumer
        --topic orders --group readers"]}, granted at the first start of this object, also over a data_dir that was used
        before, and not by `restart`. seed: what new data hold besides, the file of a seed or its values: docs/seeds.md.
        registry: serve a schema registry, too, at `registry_url`.
        """
        self._settings = checked(
            topics=topics,
            config=config,
            features=features,
            host=host,
            port=port,
            data_dir=data_dir,
            log_level=log_level,
            brokers=brokers,
            secure=secure,
            users=users,
            grants=grants,
            seed=seed,
            registry=registry,
        )
        self._in_process = in_process
        self._running: Running | None = None
        self._owner = 0
        self._port = port
        self._ports: list[int] = []  # of all nodes, from the first start on
        self._registry_port = 0
        self._home: str | None = None
        self._snapshots = 0
        self._log = ""
        self._turn = threading.RLock()
        self.clock = ClockHandle(self._ask)
        """The broker's clock: `clock.advance("7d")`."""
        self.trace = Trace(self._ask)
        """The latest events in the broker: `trace.events(kind="transaction")`."""
        self.why = WhyHandle(self._ask)
        """Explanations of what hangs: `print(broker.why.consumer("g"))`."""
        self._revival = Revival(self._turn, self._start)
        self.faults = FaultsHandle(self._ask, self._ended_by, self._armed)
        """The broker's armed faults: `faults.arm(api="EndTxn", lose_answer=True)`."""

    def __repr__(self) -> str:
        return f"<Barnabas {self.bootstrap_servers if self.is_running else 'not running'}>"

    # --- beginning and end ---

    def start(self) -> Self:
        """Start the broker; after `stop` or `kill` with the same data and port. Raises BarnabasError."""
        with self._owners_turn():
            if self.is_running:
                raise BarnabasError("the broker runs already")
            self._revival.begin_anew()
            self._start()
            assert self._running is not None
            for warning in self._running.warnings:
                warnings.warn(warning, BarnabasWarning, stacklevel=2)
        return self

    def stop(self) -> None:
        """Stop the broker cleanly, like SIGTERM: answer requests in flight, sync everything. The data stay."""
        with self._owners_turn():
            self._present().stop()

    def kill(self) -> None:
        """Kill the broker now, like `kill -9`. The data stay as they are. Does nothing if it does not run."""
        with self._owners_turn():
            self._revival.forget()
            if self._running is not None:
                self._running.kill()

    def restart(self) -> None:
        """Stop the broker cleanly if it runs, then start it with the same data and port."""
        with self._owners_turn():
            if self.is_running:
                self.stop()
            self.start()

    def close(self) -> None:
        """End the broker for good. A temporary directory is removed with all its snapshots; other data are closed
        cleanly. In a fork of the process that started it this does nothing.

        Raises BarnabasError where a fault crashed it and it could not be started again, unless an earlier call did so.
        """
        if self._is_forked:
            return
        with self._turn:
            self._revival.forget()
            try:
                if self.is_running and self._settings.data_dir is not None:
                    self.stop()
            finally:
                self.kill()
                if self._running is not None:
                    self._log = self.logs[-_REMEMBERED_LOG:]
                    self._running.discard()
                    self._running = self._home = None
            self._revival.raise_failure_once()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    # --- properties ---

    @property
    def is_running(self) -> bool:
        """Whether the broker runs: false before the start and after a stop, a kill or a crash."""
        return self._running is not None and self._running.is_running

    @property
    def bootstrap_servers(self) -> str:
        """The value of bootstrap.servers for clients: the same from the first start on. Raises NotRunning before."""
        if self._port == 0:
            raise NotRunning("the broker was never started, so it has no port yet")
        host = self._settings.host or "127.0.0.1"
        host = f"[{host}]" if ":" in host else host
        return ",".join(f"{host}:{port}" for port in self._ports or [self._port])

    @property
    def port(self) -> int:
        """The port it listens on; before the first start the given one."""
        return self._port

    @property
    def registry_url(self) -> str:
        """The address of the schema registry: the same from the first start on. Raises NotRunning before.

        Raises BarnabasError without registry=True.
        """
        if not self._settings.registry:
            raise BarnabasError("there is no schema registry: Barnabas(registry=True) has one")
        if self._registry_port == 0:
            raise NotRunning("the broker was never started, so the registry has no port yet")
        host = self._settings.host or "127.0.0.1"
        host = f"[{host}]" if ":" in host else host
        return f"{'https' if self._settings.secure else 'http'}://{host}:{self._registry_port}"

    @property
    def pid(self) -> int:
        """The id of the broker's process: this one, with in_process."""
        return self._present().pid

    @property
    def data_dir(self) -> str:
        """The directory of its data, in Kafka's files."""
        with self._turn:
            if self._running is None:
                raise NotRunning("the broker was never started, or it is closed")
            return self._running.data_dir

    @property
    def logs(self) -> str:
        """The log of the broker, over all its starts; after `close` the end of the log."""
        with self._turn:
            return self._running.logs() if self._running is not None else self._log

    def client_settings(self, kind: str = "librdkafka", user: str = "client") -> dict[str, str]:
        """Return the settings of a client for it: librdkafka's settings, or those of java, kafka-python or spark.

        user: with secure=True there are `client`, `admin` and `users`. Raises BarnabasError for an unknown kind or
        user.
        """
        settings: dict[str, str] = self._ask("client_settings", kind, user, self.bootstrap_servers)
        return settings

    # --- looking ---

    def records(
        self, topic: str, partition: int | None = None, *, isolation_level: str = "read_committed"
    ) -> list[Record]:
        """Return every record a consumer of this isolation level sees now, of one partition or of all in turn.

        Raises BarnabasError where there is no such partition.
        """
        if isolation_level not in ISOLATION_LEVELS:
            raise ValueError(f"isolation_level {isolation_level!r} is not one of {', '.join(ISOLATION_LEVELS)}")
        numbers = range(self._partition_count(topic)) if partition is None else [partition]
        found: list[Record] = []
        for number in numbers:
            start: int | None = None
            while True:
                page, start = self._ask("records", topic, number, isolation_level == "read_committed", start)
                found += [Record(topic, number, *each) for each in page]
                if start is None:
                    break
        return found

    def offsets(self, topic: str, partition: int = 0) -> PartitionOffsets:
        """Return the log start offset, last stable offset and high watermark of a partition. Raises BarnabasError."""
        return PartitionOffsets(topic, partition, *self._ask("offsets", topic, partition))

    def topics(self) -> dict[str, int]:
        """Return the present topics with the number of their partitions, without the broker's internal topics."""
        return {name: count for name, count in self._ask("topics").items() if not name.startswith("__")}

    def transactions(self) -> list[Transaction]:
        """Return every transactional id, open or not, by name."""
        return [Transaction(*fields) for fields in self._ask("transactions")]

    def open_transactions(self) -> list[OpenTransaction]:
        """Return the transactions that have not ended, the oldest first, with the partitions that they block."""
        now_ms: int = self._ask("now_ms")
        found = []
        for txn in sorted(self.transactions(), key=lambda txn: txn.started_ms or 0):
            if txn.is_open:
                offsets = [self.offsets(*partition) for partition in txn.partitions]
                waiting = tuple(each for each in offsets if each.held_back)
                found.append(OpenTransaction(txn, now_ms - (txn.started_ms or now_ms), waiting))
        return found

    def share_group(self, group: str) -> SharedGroup:
        """Return a share group: what is in flight, with which member, for how long. Raises BarnabasError."""
        return shared_group(group, *self._ask("share_group", group))

    def held_records(self) -> dict[str, list[SharedRange]]:
        """Return the records that members of share groups hold, by group; no group without such records."""
        return {group: [SharedRange(*each) for each in held] for group, held in self._ask("held_records")}

    # --- changing ---

    def end_locks(self, group: str, member: str | None = None) -> int:
        """End the acquisition locks of a share group's member, or of all, as if their time were over.

        Return the number of records: another member can acquire them now. Raises BarnabasError, also for a member that
        is not in the group and holds nothing.
        """
        count: int = self._ask("end_locks", group, member)
        return count

    def create_topic(self, name: str, partitions: int = -1, config: Mapping[str, object] | None = None) -> None:
        """Create a topic; it can be used at once. Raises BarnabasError."""
        self._ask("create_topic", name, partitions, texts(config or {}))

    def stop_node(self, node: int) -> None:
        """Stop one of several nodes; the others take over its partitions and groups. Raises BarnabasError."""
        self._ask("stop_node", node)

    def start_node(self, node: int) -> None:
        """Start a stopped node; it leads the partitions that have no leader. Raises BarnabasError."""
        self._ask("start_node", node)

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Make a node the leader of a partition, also of `__consumer_offsets` or `__transaction_state`.

        Raises BarnabasError.
        """
        self._ask("move_leader", topic, partition, node)

    def leader(self, topic: str, partition: int = 0) -> int:
        """Return the id of the node that leads a partition; -1 while there is no leader. Raises BarnabasError."""
        leader: int = self._ask("leader", topic, partition)
        return leader

    def snapshot(self, path: str | os.PathLike[str] | None = None) -> Snapshot:
        """Copy all its data at this moment, while it runs and its clients stay connected.

        The copy is in `path`, which must not exist yet, and stays there; without `path` it is removed by `close`.
        """
        with self._owners_turn():
            if path is None:
                self._snapshots += 1
                path = os.path.join(self._home or self.data_dir, f"snapshot-{self._snapshots}")
            target = os.path.abspath(os.fspath(path))
            self._ask("snapshot", target)
        return Snapshot(target)

    def restore(self, snapshot: Snapshot | str | os.PathLike[str]) -> None:
        """Restore a snapshot, also one of another broker: kill this one, replace its data, start it at the same port.

        To the broker it is as if it had been killed at the moment of the snapshot. Raises BarnabasError.
        """
        source = snapshot.path if isinstance(snapshot, Snapshot) else os.path.abspath(os.fspath(snapshot))
        if not os.path.isdir(source):
            raise BarnabasError(f"there is no snapshot {source}")
        with self._owners_turn():
            target = self.data_dir
            self.kill()
            replace_directory(source, target)
            self.start()

    # --- helpers ---

    def _start(self) -> None:
        """Start the broker, for the first time or again. Raises BarnabasError."""
        self.kill()  # a broker that died by itself still holds a socket
        ports = {"port": self._port, "ports": self._ports, "registry_port": self._registry_port}
        self._running = running = self._begin({**self._settings.wire(), **ports})
        self._owner = os.getpid()
        self._ports, self._home = running.ports, running.home
        self._port = self._ports[0]
        if self._settings.registry:
            self._registry_port = running.ask("registry_port")

    def _begin(self, settings: Wire) -> Running:
        if self._in_process:
            from barnabas.embedded.thread import begin

            return begin(settings, self._home)
        from barnabas.embedded.child_process import ChildProcess

        return ChildProcess(settings, self._home)

    @property
    def _is_forked(self) -> bool:
        """Whether this process is a fork of the one that started the broker, which alone may end it."""
        return self._running is not None and self._owner != os.getpid()

    def _check_owner(self) -> None:
        if self._is_forked:
            raise BarnabasError(
                f"process {self._owner} started the broker, and this is a fork of it: call its methods there, and "
                f"connect a client to {self.bootstrap_servers} here"
            )

    def _owners_turn(self) -> threading.RLock:
        """Return the lock of all calls. Raise BarnabasError in a fork: there a thread that is gone may hold it."""
        self._check_owner()
        return self._turn

    def _present(self) -> Running:
        self._check_owner()
        if self._running is None:
            raise NotRunning("the broker was never started, or it is closed")
        self._revival.revived(self._running)
        if not self._running.is_running:
            log = self._running.logs()
            crash = crash_in(log)
            if crash is not None:
                raise Crashed(*crash, crash.while_down)
            last_lines = log.splitlines()[-_LAST_LINES:]
            raise NotRunning(
                "\n".join(
                    [
                        "the broker does not run: it was stopped or killed, or it died; the last lines of its log:",
                        *last_lines,
                    ]
                )
            )
        return self._running

    def _armed(self, faults: Collection[str], restart: bool) -> None:
        """Register faults that were armed, and whether to start the broker again if one of them crashes it."""
        with self._owners_turn():
            if self._running is not None:
                self._revival.wants(self._running, faults, restart=restart)

    def _ended_by(self, timeout_s: float) -> Crash | None:
        """Return the fault that ended the broker within this time; other threads are not blocked meanwhile. A
        broker that is started again runs already when this returns. Raises BarnabasError where it could not be.
        """
        with self._owners_turn():
            if self._revival.is_awaited:
                crash = self._revival.wait(timeout_s)
                if crash is not None or self.is_running:
                    return crash
        running = self._running
        if running is None:
            raise NotRunning("the broker was never started, or it is closed")
        return crash_in(running.logs()) if running.wait_ended(timeout_s) else None

    def _ask(self, name: str, *arguments: object, timeout_s: float = ANSWER_TIMEOUT_S) -> Any:
        with self._owners_turn():
            running = self._present()
            try:
                return running.ask(name, *arguments, timeout_s=timeout_s)
            except Crashed:
                crash = self._revival.revived(running)
                if crash is None:
                    raise
                raise Crashed(*crash, f"{crash} during the call; it was started again: repeat the call") from None

    def _partition_count(self, topic: str) -> int:
        there: Mapping[str, int] = self._ask("topics")
        count = there.get(topic)
        if count is None:
            from barnabas.client.near_names import did_you_mean  # what a user imports loads nothing of the broker

            raise BarnabasError(f"there is no topic {topic}{did_you_mean(topic, there)}")
        return count
