"""One broker on the running event loop, started from settings; called and ended by its owner.

Knows the broker's parts, not its caller: `child.py` reads calls from a socket, `thread.py` gets them directly.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from inspect import isawaitable
from itertools import chain
from typing import TYPE_CHECKING, Any

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.load import load_config
from barnabas.broker.control.faults.model import FaultRefused
from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import duration_ms, moment_ms
from barnabas.broker.insight.history.lines import line_of
from barnabas.broker.insight.history.trace_filter import wanted
from barnabas.broker.metadata.catalogue import CatalogueError
from barnabas.broker.metadata.image.topic_changes import NewTopic
from barnabas.broker.network.bound_sockets import BoundAddress, bind, bind_nodes, close_sockets
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.restored_clock import movable
from barnabas.broker.server.seeding.errors import MISSING_PACKAGES, SeedError
from barnabas.broker.server.start import open_registry, start_broker
from barnabas.embedded.inside import questions, whys
from barnabas.embedded.inside.fault_questions import fault_questions
from barnabas.embedded.inside.securing import client_settings, rights, secure
from barnabas.embedded.snapshots import copy_directory
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    import socket

    from barnabas.broker.control.time_control.time_control import ClockState, TimeControl
    from barnabas.broker.metadata.cluster.topology import ClusterTopology
    from barnabas.broker.server.secure.directory import Security
    from barnabas.broker.server.seeding.reading import SeedSource


class QuestionFailed(Exception):
    """A call with arguments that make no sense, or a bug of ours. str() names both; the broker continues."""


FORESEEN = (
    *(CatalogueError, ClockRefused, ConfigError, FaultRefused, KafkaError),
    *(OSError, QuestionFailed, SeedError, StorageError),
)
"""The errors that a broker reports in a sentence; anything else is a bug of ours."""

Answer = Callable[..., Any | Awaitable[Any]]

_log = logger("app")


class Host:
    """A running broker and the functions that its owner may call, by name."""

    def __init__(
        self,
        broker: Broker,
        data_dir: str,
        warnings: list[str],
        security: Security | None = None,
        registry_port: int = 0,
    ) -> None:
        self.broker = broker
        self.warnings = warnings
        self._data_dir = data_dir
        self._history = broker.history.get()
        self._answers: Mapping[str, Answer] = {
            **{name: self._about_services(answer) for name, answer in questions.QUESTIONS.items()},
            **{name: partial(answer, broker) for name, answer in whys.WHYS.items()},
            "share_group": self._share_group,
            "held_records": self._held_records,
            "end_locks": self._end_locks,
            "client_settings": partial(client_settings, security),
            "create_topic": self._create_topic,
            "registry_port": lambda: registry_port,
            "transactions": self._transactions,
            "leader": self._leader,
            "move_leader": self._move_leader,
            "start_node": self._start_node,
            "stop_node": self._stop_node,
            "snapshot": self._snapshot,
            "clock_state": lambda: self._clock.state.state,
            "clock_freeze": lambda: self._done(self._clock.freeze()),
            "clock_run": lambda: self._done(self._clock.run()),
            "clock_advance": self._advance,
            "clock_at": self._advance_to,
            "trace": self._trace,
            **fault_questions(broker),
        }

    @property
    def ports(self) -> list[int]:
        """The port of each node."""
        return [member.bound[0].port for member in self.broker.members]

    async def answer(self, name: str, *arguments: Any) -> Any:
        """Return the answer to one call, in plain values. Raises FORESEEN."""
        try:
            found = self._answers[name](*arguments)
            return await found if isawaitable(found) else found
        except FORESEEN:
            raise
        except Exception as error:
            _log.exception(line("question failed", question=name, error=repr(error)))
            raise QuestionFailed(f"{name}: {error!r}; the broker's log has the traceback") from error

    async def stop(self) -> None:
        """Stop cleanly. Raises StorageError."""
        await self.broker.stop()

    def _about_services(self, answer: Answer) -> Answer:
        return lambda *arguments: answer(self.broker.services, *arguments)

    def _create_topic(self, name: str, partitions: int, config: dict[str, str | None]) -> None:
        self.broker.catalogue.create_topic(name, partitions, config)

    async def _transactions(self) -> list[tuple[Any, ...]]:
        """Return the transactions of all nodes: each lists those that it coordinates."""
        found = [await questions.transactions(member.services) for member in self.broker.members]
        return sorted(txn for of_node in found for txn in of_node)

    async def _share_group(self, group_id: str) -> tuple[Any, ...]:
        from barnabas.embedded.inside.share_groups import share_group  # few brokers need its modules

        return await share_group(self.broker.services, group_id)

    def _held_records(self) -> list[tuple[Any, ...]]:
        from barnabas.embedded.inside.share_groups import held_records  # as above

        return held_records(self.broker.services)

    async def _end_locks(self, group_id: str, member_id: str | None) -> int:
        from barnabas.broker.control.share_locks import end_locks  # as above

        return await end_locks(self.broker.services, group_id, member_id)

    def _leader(self, topic: str, partition: int) -> int:
        self._check(topic, partition)
        return self.broker.services.cluster.placement_of(topic, partition).leader

    def _move_leader(self, topic: str, partition: int, node: int) -> None:
        self._check(topic, partition)
        self._nodes().lead((topic, partition), node)

    async def _stop_node(self, node: int) -> None:
        await self._have_stopped({node}.union)

    async def _start_node(self, node: int) -> None:
        await self._have_stopped(lambda stopped: set(stopped) - {node})

    async def _have_stopped(self, wanted: Callable[[Collection[int]], Collection[int]]) -> None:
        under_way = self._nodes().have_stopped(wanted)
        if under_way is not None:
            await under_way
        assert self.broker.lifecycle is not None
        await self.broker.lifecycle.settled()

    @property
    def _clock(self) -> TimeControl:
        return self.broker.time_control.get()

    def _done(self, state: ClockState) -> None:
        """Return None in place of a state."""

    async def _advance(self, by: str | int) -> None:
        await self._clock.advance(duration_ms(by) if isinstance(by, str) else by)

    async def _advance_to(self, moment: str) -> None:
        await self._clock.at(moment_ms(moment))

    def _trace(self, conditions: Mapping[str, list[str]], limit: int) -> list[tuple[Any, ...]]:
        """Return the last matching events, as fields of barnabas.embedded.answers.TracedEvent. Raises KafkaError."""
        try:
            found = self._history.last(wanted(conditions), limit)
        except ValueError as wrong:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(wrong)) from wrong
        return [
            (event.number, event.at_ms, event.kind, dict(event.facts), dict(event.cause), line_of(event.as_json()))
            for event in found
        ]

    def _nodes(self) -> ClusterTopology:
        if self.broker.shared_storage is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "there is one node: Barnabas(brokers=3) has more")
        return self.broker.shared_storage.nodes

    def _check(self, topic: str, partition: int) -> None:
        if not self.broker.services.partitions.exists(topic, partition):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{partition}")

    def _snapshot(self, target: str) -> None:
        """Copy in one turn of the loop, so that the files are those of one moment, as a kill would leave them."""
        copy_directory(self._data_dir, target)


async def open_host(
    settings: Mapping[str, Any], data_dir: str, descriptor_limit: int, *, owns_process: bool = True
) -> Host:
    """Start a broker of these settings (barnabas.embedded.settings.BrokerSettings) that accepts connections. FORESEEN.

    owns_process: whether this process runs no other code.
    """
    host = f"[{settings['host']}]" if ":" in settings["host"] else settings["host"]
    flags = {"listeners": f"PLAINTEXT://{host}:{settings['port']}", "log.dirs": data_dir}
    load = partial(
        load_config,
        settings=[f"{key}={value}" for key, value in settings["config"].items()],
        brokers=settings["brokers"],
    )
    loaded, security, granted = load(flags=flags), None, []
    if settings["secure"]:
        security, secured = secure(loaded.config, settings["users"])
        loaded = load(flags={**flags, **secured})
        if not settings["ports"]:  # this object's first start: a restart does not restore a right that was removed
            granted = rights(security, settings["grants"])
    bound = _bind(loaded.config, settings["brokers"], settings["ports"])
    registry: list[socket.socket] = []
    try:
        registry = _bind_registry(settings)
        broker = await start_broker(
            loaded.config,
            bound[0],
            descriptor_limit=descriptor_limit,
            topics=[NewTopic(name, partitions, configs=config) for name, partitions, config in settings["topics"]],
            features=settings["features"],
            security=security,
            granted=granted,
            environment=movable(Environment(owns_process=owns_process)),
            others=bound[1:],
            seed=_seed(settings),
        )
        if registry:
            await open_registry(broker, registry, secured=security is not None)
    except BaseException:
        for each in chain.from_iterable(bound):
            close_sockets(each)
        for sock in registry:
            sock.close()
        raise
    port = registry[0].getsockname()[1] if registry else 0
    return Host(broker, data_dir, loaded.warnings, security, port)


def _bind_registry(settings: Mapping[str, Any]) -> list[socket.socket]:
    """Bind the port of the schema registry, if there is one: the one that it had before. OSError."""
    if not settings["registry"]:
        return []
    host, port = settings["host"], settings["registry_port"]
    try:
        return bind(host, port)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port} for the schema registry: {_reason(error)}") from error


def _seed(settings: Mapping[str, Any]) -> SeedSource | None:
    """Return the seed at this object's first start, if there is one. Raises ConfigError, SeedError."""
    file, text = settings["seed_file"], settings["seed_json"]
    if settings["ports"] or (file is None and text is None):
        return None
    try:
        from barnabas.broker.server.seeding.reading import read_file, read_values

        source = read_values(json.loads(text)) if file is None else read_file(file)
    except ImportError as missing:
        raise ConfigError(f"seed {MISSING_PACKAGES}") from missing
    except OSError as error:
        raise ConfigError(f"seed {file}: {_reason(error)}") from error
    source.has_registry = settings["registry"]
    return source


def _bind(config: BrokerConfig, count: int, ports: list[int]) -> list[list[BoundAddress]]:
    """Bind the sockets. `ports`: the nodes' earlier ports, if they were started before."""
    try:
        return bind_nodes(config, count, [port - ports[0] for port in ports])
    except ValueError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise OSError(f"cannot listen on {error.filename}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    """Return what the system said; the numbers of a resolver's errors are not those of errno."""
    return (error.strerror or str(error)).lower()
