"""One broker on the running event loop, started from settings; asked and ended by its owner.

Knows the broker's parts, not who asks: `child.py` reads questions from a socket, `thread.py` gets them as calls.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any

from barnabas.broker.app import Broker, start_broker
from barnabas.broker.catalogue import CatalogueError
from barnabas.broker.catalogue.topics import NewTopic
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.load import load_config
from barnabas.broker.net.bound import BoundAddress, bind_listeners, close_sockets
from barnabas.embedded.inside import questions
from barnabas.embedded.snapshots import copy_directory
from barnabas.protocol.errors import KafkaError
from barnabas.storage.errors import StorageError

FORESEEN = (CatalogueError, ConfigError, KafkaError, OSError, StorageError)
"""What a broker refuses with a sentence; anything else is a bug of ours."""

Answer = Callable[..., Any | Awaitable[Any]]


class Host:
    """A running broker and the answers of its own that its owner may ask for, by name."""

    def __init__(self, broker: Broker, data_dir: str, warnings: list[str]) -> None:
        self.broker = broker
        self.warnings = warnings
        self._data_dir = data_dir
        self._answers: Mapping[str, Answer] = {
            **{name: self._about_services(answer) for name, answer in questions.QUESTIONS.items()},
            "create_topic": self._create_topic,
            "snapshot": self._snapshot,
        }

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.broker.bound[0].port

    async def answer(self, name: str, *arguments: Any) -> Any:
        """The answer to one question, in plain values. FORESEEN."""
        found = self._answers[name](*arguments)
        return await found if isawaitable(found) else found

    async def stop(self) -> None:
        """A clean stop. StorageError."""
        await self.broker.stop()

    def _about_services(self, answer: Answer) -> Answer:
        return lambda *arguments: answer(self.broker.services, *arguments)

    def _create_topic(self, name: str, partitions: int, config: dict[str, str | None]) -> None:
        self.broker.catalogue.create_topic(name, partitions, config)

    def _snapshot(self, target: str) -> None:
        """Copies in one turn of the loop, so that it is one moment; as a kill would leave the files at it."""
        copy_directory(self._data_dir, target)


async def open_host(settings: Mapping[str, Any], data_dir: str, descriptor_limit: int) -> Host:
    """A broker of these settings (barnabas.embedded.settings.Settings) that accepts connections. FORESEEN."""
    host = f"[{settings['host']}]" if ":" in settings["host"] else settings["host"]
    loaded = load_config(
        flags={"listeners": f"PLAINTEXT://{host}:{settings['port']}", "log.dirs": data_dir},
        settings=[f"{key}={value}" for key, value in settings["config"].items()],
    )
    bound = _bind(loaded.config)
    try:
        broker = await start_broker(
            loaded.config,
            bound,
            descriptor_limit=descriptor_limit,
            topics=[NewTopic(name, partitions, configs=config) for name, partitions, config in settings["topics"]],
            features=settings["features"],
        )
    except BaseException:
        for each in bound:
            close_sockets(each)
        raise
    return Host(broker, data_dir, loaded.warnings)


def _bind(config: Any) -> list[BoundAddress]:
    try:
        return bind_listeners(config)
    except OSError as error:
        raise OSError(f"cannot listen on {error.filename}: {os.strerror(error.errno or 0).lower()}") from error
