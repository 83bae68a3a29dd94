"""`barnabas serve`: run a broker until a signal stops it.

The first line on stdout comes when clients can connect: `barnabas ready HOST:PORT[,…] data=D`. Logs go to stderr.
SIGTERM and SIGINT stop it cleanly, exit status 0; a second one stops it at once and leaves no clean-shutdown marker,
so that the next start looks through the logs.

Start-up is a feature: the options are read by a table of ours, and nothing is imported that the first answer does not
need.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from broker.cli.failures import UsageError

if TYPE_CHECKING:
    from broker.app import BoundAddress
    from broker.config import BrokerConfig

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = "9092"
DEFAULT_DATA_DIR = "./data"
_LEVELS = ("debug", "info", "warning", "error")

_OPTIONS = {
    "--host": ("HOST", f"the address to listen on (default {DEFAULT_HOST}; empty or 0.0.0.0: every interface)"),
    "--port": ("PORT", f"the port to listen on, 0 picks a free one (default {DEFAULT_PORT})"),
    "--data-dir": ("DIR", f"where the data are kept (default {DEFAULT_DATA_DIR})"),
    "--ephemeral": (None, "keep the data in a temporary directory that is removed at the end"),
    "--config": ("FILE", "a server.properties of Apache Kafka's"),
    "--set": ("KEY=VALUE", "a key of server.properties; may be given several times"),
    "--topic": ("NAME[:PARTITIONS]", "create a topic that is not there yet; may be given several times"),
    "--feature": ("NAME=LEVEL", "the level of a feature, such as transaction.version=1; may be given several times"),
    "--stop-with-stdin": (None, "stop cleanly when stdin ends: a broker that a program starts ends with that program"),
    "--log-level": ("LEVEL", "debug, info (default), warning or error"),
}
# What Kafka's scripts and images read under KAFKA_* that is no configuration key.
_NOT_KEYS = (
    "KAFKA_OPTS",
    "KAFKA_VERSION",
    "KAFKA_HEAP_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
)
_LOG4J = "LOG4J"


class Wishes(NamedTuple):
    """What is to be there once the broker runs: topics with their partitions, levels of features."""

    topics: list[tuple[str, int]]
    features: dict[str, int]


def run(arguments: Sequence[str]) -> int:
    """Serve until stopped; the exit status."""
    if any(word in ("--help", "-h") for word in arguments):
        print(_help())
        return 0
    options = _parse(arguments)
    if options.get("--ephemeral") and "--data-dir" in options:
        raise UsageError("serve: --ephemeral and --data-dir exclude each other")
    if not options.get("--ephemeral"):
        return _serve(options)
    from broker.ephemeral import EphemeralDirectory

    with EphemeralDirectory() as ephemeral:
        return _serve({**options, "--data-dir": [os.path.join(ephemeral.path, "data")]})


def _parse(arguments: Sequence[str]) -> dict[str, list[str]]:
    """The words given for each option. UsageError for anything that is none."""
    options: dict[str, list[str]] = {}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in _OPTIONS:
            raise UsageError(f"serve: {word!r} is no option (see barnabas serve --help)")
        if _OPTIONS[name][0] is None:
            if equals:
                raise UsageError(f"serve: {name} takes no value")
            value = "yes"
        elif not equals:
            given = next(words, None)
            if given is None:
                raise UsageError(f"serve: {name} needs a value")
            value = given
        options.setdefault(name, []).append(value)
    level = options.get("--log-level", ["info"])[-1]
    if level not in _LEVELS:
        raise UsageError(f"serve: --log-level {level} is none of {', '.join(_LEVELS)}")
    return options


def _serve(options: dict[str, list[str]]) -> int:
    from broker import log_lines
    from broker.app import bind_listeners, close_sockets
    from broker.catalogue import CatalogueError

    log_lines.configure(options.get("--log-level", ["info"])[-1])
    wishes = Wishes([_topic(word) for word in options.get("--topic", [])], _features(options.get("--feature", [])))
    config = _config(options)
    if config is None:
        return 1
    try:
        bound = bind_listeners(config)
    except OSError as error:
        print(f"barnabas: {_cannot_listen(error)}", file=sys.stderr)
        return 1
    loop = _new_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_run(config, bound, wishes, ends_with_stdin="--stop-with-stdin" in options))
    except CatalogueError as error:
        print(f"barnabas: {error}", file=sys.stderr)
        return 1
    finally:
        for each in bound:
            close_sockets(each)
        asyncio.set_event_loop(None)
        loop.close()


def _config(options: dict[str, list[str]]) -> BrokerConfig | None:
    from broker.config.broker_config import ConfigError
    from broker.config.load import load_config
    from broker.log_lines import line, logger

    properties = b""
    for path in options.get("--config", []):
        with open(path, "rb") as file:
            properties += file.read() + b"\n"
    try:
        loaded = load_config(
            flags=_flags(options, properties),
            settings=options.get("--set", []),
            environment=_environment(os.environ),
            properties=properties,
        )
    except ConfigError as error:
        print(f"barnabas: {error}", file=sys.stderr)
        return None
    for warning in loaded.warnings:
        logger("config").warning(line(warning))
    return loaded.config


def _flags(options: dict[str, list[str]], properties: bytes) -> dict[str, str]:
    """The configuration keys that options of their own stand for."""
    flags = {}
    if "--host" in options or "--port" in options:
        host, port = options.get("--host", [DEFAULT_HOST])[-1], options.get("--port", [DEFAULT_PORT])[-1]
        if not (port.isascii() and port.isdecimal() and int(port) < 1 << 16):
            raise UsageError(f"serve: --port {port} is no port")
        flags["listeners"] = f"PLAINTEXT://[{host}]:{port}" if ":" in host else f"PLAINTEXT://{host}:{port}"
    if "--data-dir" in options:
        flags["log.dirs"] = options["--data-dir"][-1]
    return flags


def _environment(variables: os._Environ[str]) -> dict[str, str]:
    """KAFKA_LOG_SEGMENT_BYTES is log.segment.bytes; `__` stands for `_` and `___` for `-`, as in Kafka's image."""
    keys = {}
    for name, value in variables.items():
        if name.startswith("KAFKA_") and name not in _NOT_KEYS and _LOG4J not in name:
            key = name.removeprefix("KAFKA_").lower()
            key = key.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")
            keys[key] = value
    return keys


def _topic(word: str) -> tuple[str, int]:
    name, colon, partitions = word.partition(":")
    if not name or (colon and not (partitions.isascii() and partitions.isdecimal() and int(partitions) > 0)):
        raise UsageError(f"serve: --topic {word} is not NAME[:PARTITIONS]")
    return name, int(partitions) if colon else -1


def _features(words: list[str]) -> dict[str, int]:
    """Levels by feature. UsageError for one that cannot be had."""
    features: dict[str, int] = {}
    if not words:
        return features
    from broker.catalogue.features import OFFERED_FEATURES

    for word in words:
        name, equals, level = word.partition("=")
        if not (equals and level.isascii() and level.isdecimal()):
            raise UsageError(f"serve: --feature {word} is not NAME=LEVEL")
        if name not in OFFERED_FEATURES:
            raise UsageError(f"serve: --feature {word}: there is no feature but {', '.join(OFFERED_FEATURES)}")
        low, high = OFFERED_FEATURES[name]
        if not low <= int(level) <= high:
            raise UsageError(f"serve: --feature {word}: the levels of {name} are {low} to {high}")
        features[name] = int(level)
    return features


def _cannot_listen(error: OSError) -> str:
    address = error.filename
    if error.errno == errno.EADDRINUSE:
        return f"{address} is in use by another program (--port picks another port, --port 0 a free one)"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"no permission to listen on {address}"
    return f"cannot listen on {address}: {error.strerror or error}"


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's event loop, the standard library's where there is none."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def _run(config: BrokerConfig, bound: list[BoundAddress], wishes: Wishes, *, ends_with_stdin: bool) -> int:
    from broker.app import start_broker
    from broker.catalogue.topics import NewTopic
    from storage.files import raise_descriptor_limit

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(
            number, lambda: os._exit(1) if stopping.is_set() else stopping.set()
        )
    broker = await start_broker(
        config,
        bound,
        descriptor_limit=raise_descriptor_limit(),
        topics=[NewTopic(name, partitions) for name, partitions in wishes.topics],
        features=wishes.features,
    )
    addresses = ",".join(_address(each) for each in bound)
    print(f"barnabas ready {addresses} data={config.data_dir}", flush=True)
    if ends_with_stdin:
        _stop_with_stdin(asyncio.get_running_loop(), stopping)
    await stopping.wait()
    await broker.stop()
    return 0


def _stop_with_stdin(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    """In a thread, since stdin may be a file, which no event loop waits for."""
    from threading import Thread

    def read() -> None:
        with suppress(OSError):
            while sys.stdin is not None and os.read(sys.stdin.fileno(), 1 << 16):
                pass
        with suppress(RuntimeError):  # the loop is closed: it stops already
            loop.call_soon_threadsafe(stopping.set)

    Thread(target=read, name="stdin", daemon=True).start()


def _address(bound: BoundAddress) -> str:
    host = bound.listener.host or "0.0.0.0"
    return f"[{host}]:{bound.port}" if ":" in host else f"{host}:{bound.port}"


def _help() -> str:
    rows = [(f"{name} {value}" if value else name, text) for name, (value, text) in _OPTIONS.items()]
    width = max(len(name) for name, _ in rows)
    options = "\n".join(f"  {name:{width}}  {text}" for name, text in rows)
    return f"""\
usage: barnabas serve [OPTION …]

Run a broker. `barnabas ready HOST:PORT data=DIR` on stdout says that clients can connect; logs go to stderr.
SIGTERM and SIGINT stop it cleanly, a second one at once.

options:
{options}

Flags come before --set, --set before KAFKA_* environment variables, these before the file."""
