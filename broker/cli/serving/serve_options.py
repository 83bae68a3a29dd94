"""The options of `barnabas serve`, which `barnabas doctor` takes too, and the configuration from them.

Parsed by our own table, since argparse would add ten milliseconds to the start.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.http_address import parse_http_address

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig, LoadedConfig
    from barnabas.broker.control.faults.model import FaultPlan
    from barnabas.broker.http.control.admission import Admission
    from barnabas.broker.security.sasl.add_scram import NewUser
    from barnabas.broker.server.seeding.reading import SeedSource

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = "9092"
DEFAULT_DATA_DIR = "./data"
CONSOLE_PORT = 9404
REGISTRY_PORT = 8081
BROKERS_MAX = 16
_FILE_BYTES_MAX = 1 << 20
_PATHS = ("--config", "--data-dir", "--seed")
_LEVELS = ("debug", "info", "warning", "error")
_FORMATS = ("text", "json")
_TOKEN_VARIABLE = "BARNABAS_CONTROL_TOKEN"  # nosec B105 - the name of a variable

Options = dict[str, list[str]]
"""The words given for each option, in order."""

Table = Mapping[str, tuple[str | None, str]]
"""For each option the placeholder of its value, None without a value, and its description. `[=VALUE]` may be absent."""

OPTIONS: Table = {
    "--host": ("HOST", f"the address to listen on (default {DEFAULT_HOST}; empty or 0.0.0.0: every interface)"),
    "--port": ("PORT", f"the port to listen on, 0 picks a free one (default {DEFAULT_PORT})"),
    "--data-dir": ("DIR[,DIR…]", f"the data directory (default {DEFAULT_DATA_DIR})"),
    "--ephemeral": (None, "keep the data in a temporary directory that is removed at the end"),
    "--secure": (None, "use SASL_SSL only, with an authority and users that are created in DATA_DIR.security"),
    "--config": ("FILE", "a server.properties, as for Apache Kafka"),
    "--set": ("KEY=VALUE", "a key of server.properties; may be repeated"),
    "--brokers": ("N", "run N nodes on N ports, so that leaders and coordinators can move (default 1)"),
    "--topic": ("NAME[:PARTITIONS]", "create a topic if it does not exist; may be repeated"),
    "--seed": ("FILE", "the content of a new data directory, in YAML or JSON: topics, records, transactions, users …"),
    "--feature": ("NAME=LEVEL", "the level of a feature, such as transaction.version=1; may be repeated"),
    "--add-scram": (
        "MECHANISM=[name=N,password=P]",
        "set the SCRAM password of a user, as with kafka-storage, or with passwordfile=FILE or "
        "passwordvariable=NAME instead; may be repeated",
    ),
    "--stop-with-stdin": (
        None,
        "stop cleanly when stdin ends, so that the broker ends with the program that started it",
    ),
    "--console": (
        "[=PORT]",
        f"open the console in a browser: --http on this machine, at port {CONSOLE_PORT} or a free one, and --control",
    ),
    "--http": ("HOST:PORT", "serve /ready, /live and /metrics over HTTP there; port 0 picks a free one"),
    "--http-secure": (
        None,
        "HTTPS for --http and --registry, with a listener's certificate and users; the default with --secure",
    ),
    "--registry": (
        "[=[HOST:]PORT]",
        f"serve a schema registry with Confluent's API there (default {DEFAULT_HOST}:{REGISTRY_PORT})",
    ),
    "--control": (None, "let tests move the clock and arm faults over HTTP: from this machine, or with the token"),
    "--control-token": (
        "TOKEN",
        "the secret that requests for that carry, from any machine (or $BARNABAS_CONTROL_TOKEN)",
    ),
    "--faults": ("FILE", "a plan of faults to arm at the start: for tests"),
    "--log-level": ("LEVEL", "debug, info (default), warning or error"),
    "--log-format": ("FORMAT", "text (default) or json, one object to a line"),
}


class Wishes(NamedTuple):
    """Requests for the start of the broker: topics with their partitions, levels of features, users of SCRAM."""

    topics: list[tuple[str, int]]
    features: dict[str, int]
    users: list[NewUser]


def parse(arguments: Sequence[str], table: Table = OPTIONS, command: str = "serve") -> Options:
    """Return the words given for each option of `command`. UsageError for anything else."""
    options: Options = {}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in table:
            is_option = name.startswith("-")
            shown = name if is_option else "a word"  # perhaps a part of a password that had to be quoted
            meant = _did_you_mean(name, table) if is_option else ", nor the value of one"
            raise UsageError(f"{command}: {shown} is not an option{meant} (see barnabas {command} --help)")
        placeholder = table[name][0]
        if placeholder is None:
            if equals:
                raise UsageError(f"{command}: {name} takes no value")
            value = "yes"
        elif placeholder.startswith("[="):
            value = value if equals else ""
        elif not equals:
            given = next(words, None)
            if given is None:
                raise UsageError(f"{command}: {name} needs a value")
            value = given
        if name in _PATHS and not value:
            raise UsageError(f"{command}: {name} needs a value, and was given an empty one")
        options.setdefault(name, []).append(value)
    level = options.get("--log-level", ["info"])[-1]
    if level not in _LEVELS:
        raise UsageError(f"{command}: --log-level {level} is not one of {', '.join(_LEVELS)}")
    log_format = options.get("--log-format", ["text"])[-1]
    if log_format not in _FORMATS:
        raise UsageError(f"{command}: --log-format {log_format} is not one of {', '.join(_FORMATS)}")
    for setting in options.get("--set", []):
        key, equals, _ = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{command}: --set needs KEY=VALUE")
    if "--ephemeral" in options and "--data-dir" in options:
        raise UsageError(f"{command}: --ephemeral and --data-dir exclude each other")
    return options


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    from barnabas.client.near_names import did_you_mean

    return did_you_mean(name, known)


def load(options: Options, variables: Mapping[str, str], secured: Mapping[str, str] | None = None) -> LoadedConfig:
    """Return the configuration from the options, these environment variables and the files that they name.

    `secured`: settings of --secure, which override all others. UsageError, ConfigError, OSError for an unreadable file.
    """
    from barnabas.broker.config.environment import read_environment
    from barnabas.broker.config.load import load_config

    properties = b""
    for path in options.get("--config", []):
        properties += _settings_in(path) + b"\n\n"  # twice: a final backslash joins no line of the next file
    return load_config(
        flags={**_flags(options), **(secured or {})},
        settings=options.get("--set", []),
        environment=read_environment(_with_secrets(variables)),
        properties=properties,
        brokers=brokers_count(options),
        read_file=_content,
    )


def _settings_in(path: str) -> bytes:
    """Return the content of a server.properties. OSError, ConfigError."""
    from barnabas.broker.config.broker_config import ConfigError
    from barnabas.protocol.errors import DecodeError
    from barnabas.protocol.files.properties import decode

    content = _content(path)
    try:
        decode(content)
    except DecodeError as wrong:
        raise ConfigError(f"{path}: {wrong}") from wrong
    return content


def _content(path: str) -> bytes:
    """Return the content of a small file, of settings or secrets. OSError."""
    with open(path, "rb") as file:
        content = file.read(_FILE_BYTES_MAX + 1)
    if len(content) > _FILE_BYTES_MAX:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return content


def _with_secrets(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables with the content of the files that variables of container images name. ConfigError."""
    if not any(name.startswith("KAFKA_SSL_") and name.endswith(("_FILENAME", "_CREDENTIALS")) for name in variables):
        return variables
    from barnabas.broker.config.broker_config import ConfigError
    from barnabas.broker.config.definitions.secrets import with_secrets

    try:
        return with_secrets(variables, _text_of)
    except ValueError as wrong:
        raise ConfigError(str(wrong)) from wrong


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _flags(options: Options) -> dict[str, str]:
    """Return the configuration keys that other options than --set give."""
    flags = {}
    if "--host" in options or "--port" in options:
        host, port = options.get("--host", [DEFAULT_HOST])[-1], options.get("--port", [DEFAULT_PORT])[-1]
        _port("--port", port)
        flags["listeners"] = f"PLAINTEXT://[{host}]:{port}" if ":" in host else f"PLAINTEXT://{host}:{port}"
    if "--data-dir" in options:
        flags["log.dirs"] = options["--data-dir"][-1]
    return flags


def _port(option: str, word: str) -> int:
    """Return the port. UsageError for a word that is none."""
    if not (word.isascii() and word.isdecimal() and int(word) < 1 << 16):
        raise UsageError(f"{option} {word} is not a port")
    return int(word)


def http_addresses(options: Options) -> list[tuple[str, int]]:
    """Return the addresses for HTTP, of which the first that is free is used. UsageError for an invalid one."""
    port = options.get("--console", [""])[-1]
    if "--http" in options:
        if port:
            raise UsageError("serve: --console takes no port together with --http, which has one")
        return [parse_http_address(options["--http"][-1])]
    if port:
        return [(DEFAULT_HOST, _port("--console", port))]
    return [(DEFAULT_HOST, CONSOLE_PORT), (DEFAULT_HOST, 0)] if "--console" in options else []


def registry_address(options: Options) -> tuple[str, int] | None:
    """Return the address of the schema registry; None without one. UsageError for an invalid one."""
    if "--registry" not in options:
        return None
    given = options["--registry"][-1]
    if ":" in given:
        return parse_http_address(given, "--registry")
    return DEFAULT_HOST, _port("--registry", given) if given else REGISTRY_PORT


def owns_listener(options: Options, config: BrokerConfig) -> bool:
    """Return whether --secure may rename the listener: the default one, or that of --host and --port."""
    return "listeners" not in config.static or "--host" in options or "--port" in options


def listener_advice(options: Options, variables: Mapping[str, str]) -> str:
    """Return advice on changing a listener's port, for a configuration that could be loaded."""
    from barnabas.protocol.files import properties

    config = load(options, variables).config
    if owns_listener(options, config):
        return "--port picks another port, --port 0 a free one"
    listeners = config.static["listeners"]
    given = reversed(options.get("--config", []))
    files = [path for path in given if properties.decode(_content(path)).get("listeners") == listeners]
    return f"change listeners in {files[0]}" if files else "change listeners"


def secures_http(options: Options) -> bool:
    """Return whether HTTP is only for users, over TLS. UsageError."""
    if "--http-secure" in options and not http_addresses(options) and "--registry" not in options:
        raise UsageError("serve: --http-secure needs --http: barnabas serve --http 127.0.0.1:9404 --http-secure …")
    return "--http-secure" in options or "--secure" in options


def control_admission(options: Options, variables: Mapping[str, str]) -> Admission | None:
    """Return who may move the clock and arm faults, None without --control. UsageError."""
    token = options.get("--control-token", [variables.get(_TOKEN_VARIABLE) or None])[-1]
    if "--control" not in options and "--console" not in options:
        if "--control-token" in options:
            raise UsageError("serve: --control-token needs --control: barnabas serve --control --http HOST:PORT …")
        return None
    if not http_addresses(options):
        raise UsageError("serve: --control needs --http: barnabas serve --control --http 127.0.0.1:9404")
    if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token != ""):
        raise UsageError("serve: a --control-token has visible ASCII characters, and no space around them")
    from barnabas.broker.http.control.admission import Admission

    return Admission(token)


def fault_plan(options: Options, config: BrokerConfig, command: str = "serve") -> FaultPlan | None:
    """Return the faults to arm from the start, if any. UsageError; OSError for an unreadable file."""
    if "--faults" not in options:
        return None
    from barnabas.broker.control.faults.faults import known_in
    from barnabas.broker.control.faults.model import PLAN_BYTES_MAX, FaultRefused
    from barnabas.broker.control.faults.plan.reading import read_plan

    path = options["--faults"][-1]
    with open(path, "rb") as file:
        data = file.read(PLAN_BYTES_MAX + 1)
    try:
        return read_plan(data, known_in(config, range(config.node_id, config.node_id + brokers_count(options))))
    except FaultRefused as refused:
        raise UsageError(f"{command}: --faults {path}: {refused}") from refused


def seed_source(options: Options) -> SeedSource | None:
    """Return the seed of a new data directory, if any. UsageError; SeedError, OSError for one that cannot be read."""
    if "--seed" not in options:
        return None
    try:
        from barnabas.broker.server.seeding.reading import read_file

        source = read_file(options["--seed"][-1])
    except ImportError as missing:
        from barnabas.broker.server.seeding.errors import MISSING_PACKAGES

        raise UsageError(f"serve: --seed {MISSING_PACKAGES}") from missing
    source.has_registry = "--registry" in options
    return source


def brokers_count(options: Options) -> int:
    """Return the number of nodes. UsageError for an invalid one."""
    given = options.get("--brokers", ["1"])[-1]
    if not (given.isascii() and given.isdecimal() and 1 <= int(given) <= BROKERS_MAX):
        raise UsageError(f"--brokers {given!r} is not a number from 1 to {BROKERS_MAX}")
    return int(given)


def wishes(options: Options, variables: Mapping[str, str]) -> Wishes:
    """Return the requests for the start. `variables`: the environment's. UsageError for impossible ones."""
    return Wishes(
        [_topic(word) for word in options.get("--topic", [])],
        _features(options.get("--feature", [])),
        _users(options.get("--add-scram", []), variables),
    )


def _users(words: list[str], variables: Mapping[str, str]) -> list[NewUser]:
    """Return the users to add. UsageError, without a password in it."""
    if not words:
        return []
    from barnabas.broker.security.sasl.add_scram import parse_user

    try:
        return [parse_user(word, _content, variables) for word in words]
    except ValueError as wrong:
        raise UsageError(f"serve: an --add-scram {wrong}") from None


def _topic(word: str) -> tuple[str, int]:
    name, colon, partitions = word.partition(":")
    if not name or (colon and not (partitions.isascii() and partitions.isdecimal() and int(partitions) > 0)):
        raise UsageError(f"--topic {word!r} is not NAME[:PARTITIONS]")
    return name, int(partitions) if colon else -1


def _features(words: list[str]) -> dict[str, int]:
    """Return the levels by feature. UsageError for an impossible one."""
    features: dict[str, int] = {}
    if not words:
        return features
    from barnabas.broker.metadata.image.features import OFFERED_FEATURES

    for word in words:
        name, equals, level = word.partition("=")
        if not (equals and level.isascii() and level.isdecimal()):
            raise UsageError(f"--feature {word!r} is not NAME=LEVEL")
        if name not in OFFERED_FEATURES:
            there_are = f"the features are {', '.join(OFFERED_FEATURES)}"
            raise UsageError(f"--feature {word}{_did_you_mean(name, OFFERED_FEATURES) or f': {there_are}'}")
        low, high = OFFERED_FEATURES[name]
        if not low <= int(level) <= high:
            raise UsageError(f"--feature {word}: the levels of {name} are {low} to {high}")
        features[name] = int(level)
    return features


def table_text(table: Table = OPTIONS) -> str:
    """Return the options, a line each, for --help."""
    rows = [
        (f"{name}{'' if value.startswith('[=') else ' '}{value}" if value else name, text)
        for name, (value, text) in table.items()
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:{width}}  {text}" for name, text in rows)
