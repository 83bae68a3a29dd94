"""The pytest plugin: fixtures that start brokers, and a report of the broker about a test that failed.

    def test_it(barnabas):                                     # fresh and empty, 10 ms
        producer = Producer({"bootstrap.servers": barnabas.bootstrap_servers})

`barnabas` is a broker for one test, `barnabas_session` one for the whole run (one per xdist worker), and
`new_barnabas(**settings)` starts more of them. Their settings come from options, from the ini file and, for the
first, from `@pytest.mark.barnabas(topics=…, config=…, features=…)`; docs/testing.md lists them.

Loaded by pytest wherever this package is installed, so until a test uses a broker it imports nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from barnabas.embedded.barnabas import Barnabas

FIXTURES = ("barnabas", "barnabas_session", "new_barnabas")
LOG_LINES_SHOWN = 40
EVENTS_SHOWN = 20
HELD_RANGES_SHOWN = 20
_MARKER = (
    "barnabas(topics, config, features, log_level, in_process, brokers, secure, users, grants, seed, registry): the "
    "settings of the `barnabas` fixture of this test. Marks nearer to the test add to those of its class and module; "
    "where both have a setting, the nearer one wins"
)
_MERGED = ("topics", "config", "features", "users", "grants")
_SETTINGS = (*_MERGED, "log_level", "in_process", "brokers", "secure", "seed", "registry")
_INI: dict[str, tuple[Any, Any, str]] = {
    "barnabas_topics": ("linelist", [], "topics created at the start, NAME or NAME:PARTITIONS, one per line"),
    "barnabas_config": ("linelist", [], "broker keys under Kafka's names, KEY=VALUE, one per line"),
    "barnabas_features": ("linelist", [], "levels of features, NAME=LEVEL, one per line"),
    "barnabas_log_level": ("string", "", "log level of the brokers: debug, info (default), warning, error"),
    "barnabas_in_process": ("bool", False, "run brokers in threads of this process"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("barnabas", "brokers for tests (Barnabas)")
    for name, (kind, default, text) in _INI.items():
        parser.addini(name, text, type=kind, default=default)
    group.addoption("--barnabas-topic", action="append", default=[], metavar="NAME[:PARTITIONS]", help="create a topic")
    group.addoption("--barnabas-config", action="append", default=[], metavar="KEY=VALUE", help="set a broker key")
    group.addoption(
        "--barnabas-feature", action="append", default=[], metavar="NAME=LEVEL", help="set the level of a feature"
    )
    group.addoption("--barnabas-log-level", metavar="LEVEL", help="log level of the brokers")
    group.addoption("--barnabas-in-process", action="store_true", help="run brokers in threads of this process")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the process that forks brokers while the first tests are set up."""
    if session.config.option.collectonly or _in_process(session.config):
        return
    if any(name in FIXTURES for item in session.items for name in getattr(item, "fixturenames", ())):
        from barnabas.embedded import pool

        pool.current()


def pytest_unconfigure() -> None:
    """End that process, if there was one."""
    import sys

    if (pool := sys.modules.get("barnabas.embedded.pool")) is not None:
        pool.close()


# --- fixtures --------------------------------------------------------------------------------------------------------


@pytest.fixture
def barnabas(request: pytest.FixtureRequest) -> Iterator[Barnabas]:
    """Start a new, empty Kafka broker for this test: `barnabas.bootstrap_servers` is its address."""
    from barnabas.embedded.barnabas import Barnabas

    with Barnabas(**_marked(request)) as broker:
        yield broker


@pytest.fixture(scope="session")
def barnabas_session(pytestconfig: pytest.Config) -> Iterator[Barnabas]:
    """Provide a Kafka broker that all tests of this run share, one for each xdist worker."""
    from barnabas.embedded.barnabas import Barnabas

    with Barnabas(**_configured(pytestconfig)) as broker:
        yield broker


@pytest.fixture
def new_barnabas(pytestconfig: pytest.Config) -> Iterator[Callable[..., Barnabas]]:
    """Provide `new_barnabas(**settings)`, which starts one more broker for the test. Settings as of `Barnabas`."""
    from contextlib import ExitStack

    from barnabas.embedded.barnabas import Barnabas

    with ExitStack() as brokers:
        yield lambda **settings: brokers.enter_context(Barnabas(**merged(_configured(pytestconfig), settings)))


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the settings of options, ini file and marks together; raise UsageError for an invalid mark."""
    settings = _configured(request.config)
    for mark in reversed(list(request.node.iter_markers("barnabas"))):
        unknown = [name for name in mark.kwargs if name not in _SETTINGS]
        if mark.args or unknown:
            from barnabas.client.near_names import did_you_mean

            what = f"does not know {', '.join(unknown)}" if unknown else "takes only keyword arguments"
            meant = did_you_mean(unknown[0], _SETTINGS) if len(unknown) == 1 else ""
            raise pytest.UsageError(f"pytest.mark.barnabas {what}{meant or ': it knows ' + ', '.join(_SETTINGS)}")
        settings = merged(settings, mark.kwargs)
    return settings


def merged(settings: dict[str, Any], further: dict[str, Any]) -> dict[str, Any]:
    """Merge both settings; the further ones override. Raises TypeError for settings that cannot be merged."""
    merged = {**settings, **further}
    for name in _MERGED:
        if name in settings and name in further:
            merged[name] = {**_mapping(name, settings[name]), **_mapping(name, further[name])}
    return merged


def _mapping(name: str, value: Any) -> dict[str, Any]:
    """Return a setting that can be merged as a mapping; topics may be names alone. Raises TypeError."""
    if value is None:
        return {}
    if hasattr(value, "keys"):
        return dict(value)
    if name == "topics" and isinstance(value, Iterable) and not isinstance(value, str):
        return dict.fromkeys(value, -1)
    or_names = " or a list of names" if name == "topics" else ""
    raise TypeError(f"{name} must be a mapping{or_names}, not {type(value).__name__}")


def _configured(config: pytest.Config) -> dict[str, Any]:
    """Return the settings of the ini file and the command line, which overrides. Raises UsageError."""
    topics = [*config.getini("barnabas_topics"), *config.getoption("--barnabas-topic")]
    settings = [*config.getini("barnabas_config"), *config.getoption("--barnabas-config")]
    features = [*config.getini("barnabas_features"), *config.getoption("--barnabas-feature")]
    level = config.getoption("--barnabas-log-level") or config.getini("barnabas_log_level") or "info"
    return {
        "topics": dict(map(_topic, topics)),
        "config": dict(_pair(setting) for setting in settings),
        "features": {name: _number(level, name) for name, level in map(_pair, features)},
        "log_level": level,
        "in_process": _in_process(config),
    }


def _in_process(config: pytest.Config) -> bool:
    return bool(config.getoption("--barnabas-in-process") or config.getini("barnabas_in_process"))


def _topic(text: str) -> tuple[str, int]:
    name, colon, partitions = text.partition(":")
    return name.strip(), _number(partitions, name) if colon else -1


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise pytest.UsageError("barnabas: a setting must be NAME=VALUE")
    return name.strip(), value.strip()


def _number(text: str, name: str) -> int:
    if not text.strip().isdecimal():
        raise pytest.UsageError(f"barnabas: {name}: {text!r} is not a number")
    return int(text)


# --- the report of a broker about a failure --------------------------------------------------------------------------


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add the brokers of a test that failed: what is open or held, the latest events, and the log."""
    outcome = yield
    report = outcome.get_result()
    if not report.failed or report.when == "teardown":
        return
    for name, broker in getattr(item, "funcargs", {}).items():
        if type(broker).__module__ == "barnabas.embedded.barnabas":
            report.sections.append((f"broker ({name})", describe(broker)))


def describe(broker: Barnabas) -> str:
    """Describe a broker in lines: what is open, held and hanging, its last events and log lines. Never fails."""
    lines = [repr(broker), *_describe_open(broker), *_describe_held(broker), *_describe_hanging(broker)]
    return "\n".join([*lines, *_describe_trace(broker), *broker.logs.splitlines()[-LOG_LINES_SHOWN:]])


def _describe_trace(broker: Barnabas) -> list[str]:
    """Return the latest events; none of a broker that does not run, or does not answer."""
    from barnabas.embedded.errors import BarnabasError

    if not broker.is_running:
        return []
    try:
        events = broker.trace.events(limit=EVENTS_SHOWN)
    except BarnabasError as error:
        return [f"its trace cannot be read: {error}"]
    return ["latest events (docs/trace.md):", *(f"  {event.text}" for event in events)] if events else []


def _describe_open(broker: Barnabas) -> list[str]:
    from barnabas.embedded.errors import BarnabasError

    if not broker.is_running:
        return []
    try:
        found = broker.open_transactions()
    except BarnabasError as error:
        return [f"its transactions cannot be read: {error}"]
    lines = [] if found else ["no transaction is open"]
    for each in found:
        txn = each.transaction
        where = ", ".join(f"{topic}-{partition}" for topic, partition in txn.partitions) or "no partition"
        lines.append(
            f"transaction {txn.transactional_id}: {txn.state} for {each.age_ms} ms (timeout {txn.timeout_ms} ms), "
            f"producer {txn.producer_id} epoch {txn.producer_epoch}, in {where}"
        )
        lines += [
            f"  {at.topic}-{at.partition}: readers of committed records stop at offset {at.last_stable_offset}"
            f" of {at.high_watermark}"
            for at in each.waiting
        ]
    return lines


def _describe_held(broker: Barnabas) -> list[str]:
    """Return the records that members of share groups hold, a line for each range; no lines where there are none."""
    from barnabas.embedded.errors import BarnabasError

    if not broker.is_running:
        return []
    try:
        found = broker.held_records()
    except BarnabasError as error:
        return [f"the records that members of share groups hold cannot be read: {error}"]
    lines = [
        f"share group {group}: member {each.member_id} holds {each.topic}-{each.partition} from offset "
        f"{each.first_offset} to {each.last_offset} for {each.lock_left_ms} ms more (delivery {each.delivery_count})"
        for group, held in found.items()
        for each in held
    ]
    left_out = len(lines) - HELD_RANGES_SHOWN
    return [*lines[:HELD_RANGES_SHOWN], *([f"... and {left_out} more ranges"] if left_out > 0 else [])]


def _describe_hanging(broker: Barnabas) -> list[str]:
    """Explain why groups and transactions have not ended; return no lines where nothing hangs."""
    from barnabas.embedded.errors import BarnabasError

    if not broker.is_running:
        return []
    try:
        found = broker.why.hanging()
    except BarnabasError as error:
        return [f"cannot explain what hangs: {error}"]
    return str(found).splitlines() if found else []
