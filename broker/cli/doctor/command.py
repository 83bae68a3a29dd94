"""`barnabas doctor`: will this set-up work, and if a broker runs, can clients use it?

Without --bootstrap-server, and without bootstrap servers in --command-config, it examines what `barnabas serve` would
find with the same options, and changes nothing. Otherwise it examines a running broker as a client does. The exit
status is 1 if there is a problem.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.cli.doctor.finding import CheckResult, Level, note, problem
from barnabas.broker.cli.serving.serve_options import (
    OPTIONS,
    Options,
    Table,
    control_admission,
    fault_plan,
    http_addresses,
    load,
    owns_listener,
    parse,
    registry_address,
    table_text,
    wishes,
)
from barnabas.broker.cli.terminal.failures import FAILURE, UsageError
from barnabas.broker.cli.terminal.output import counted, print_json

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig, LoadedConfig
    from barnabas.broker.server.secure.directory import DirectoryContent

_TIMEOUT_MS = 3_000
_OWN: Table = {
    "--bootstrap-server": ("HOST:PORT[,…]", "examine the running broker at this address"),
    "--request-timeout-ms": ("MS", f"how long to try each address (default {_TIMEOUT_MS})"),
    "--command-config": ("FILE", "a client.properties: TLS and SASL for that broker, and perhaps its address"),
    "--json": (None, "print JSON"),
}


def run(arguments: Sequence[str]) -> int:
    """Run the command. Return the exit status: 0 if a broker works, or would work, 1 if there is a problem."""
    from barnabas.broker.runtime import log_lines

    if any(word in ("--help", "-h") for word in arguments):
        print(_help())
        return 0
    options = parse(arguments, {**OPTIONS, **_OWN}, "doctor")
    log_lines.configure("error")
    is_running = "--bootstrap-server" in options or "--command-config" in options
    findings = _examine_running(options) if is_running else _examine_start(options)
    if "--json" in options:
        _print_json(findings)
    else:
        _print(findings)
    return FAILURE if any(each.level is Level.PROBLEM for each in findings) else 0


def _examine_running(options: Options) -> list[CheckResult]:
    from barnabas.broker.cli.doctor.running import examine
    from barnabas.broker.cli.terminal.client_settings import settings_in
    from barnabas.broker.cli.terminal.options import addresses_of
    from barnabas.client.clock import SystemClientClock

    path = options.get("--command-config", [None])[-1]
    settings = None if path is None else settings_in(path)
    given = ",".join(options["--bootstrap-server"]) if "--bootstrap-server" in options else None
    if given is None and (settings is None or not settings.bootstrap):
        raise UsageError(f"doctor: --command-config {path} has no bootstrap.servers: give --bootstrap-server")
    try:
        bootstrap = addresses_of(given, settings)
    except UsageError as wrong:
        raise UsageError(f"doctor: {wrong}") from wrong
    return examine(
        bootstrap, SystemClientClock(), _timeout_ms(options), None if settings is None else settings.security
    )


def _examine_start(options: Options) -> list[CheckResult]:
    from barnabas.broker.cli.doctor import configuration, directory, machine, ports
    from barnabas.broker.config import ConfigError
    from barnabas.broker.config.environment import read_environment
    from barnabas.client.clock import SystemClientClock
    from barnabas.storage.disk.files import raise_descriptor_limit

    wishes(options, os.environ)
    control_admission(options, os.environ)
    findings = [machine.examine_python(), machine.examine_descriptors(raise_descriptor_limit())]
    try:
        loaded, content = _load(options)
    except ConfigError as error:
        return [problem("configuration", str(error)), *findings]
    except OSError as error:
        return [problem("configuration", f"{error.filename} cannot be read: {error.strerror}"), *findings]
    config = loaded.config
    clock = SystemClientClock()
    http, registry = http_addresses(options)[-1:], registry_address(options)
    newest_s = None if "--ephemeral" in options else directory.newest_change_s(config.metadata_dir)
    return [
        *configuration.examine(loaded, read_environment(os.environ)),
        *ports.examine(config, clock, _timeout_ms(options)),
        *(ports.examine_http(*address) for address in http),
        *([] if registry is None else [ports.examine_http(*registry, check="registry")]),
        *([] if "--ephemeral" in options else directory.examine(config)),
        machine.examine_clock(clock.now_ms() / 1000, newest_s),
        *_examine_security(options, config, clock.now_ms(), content),
        *_examine_faults(options, config),
        *findings,
    ]


def _load(options: Options) -> tuple[LoadedConfig, DirectoryContent | None]:
    """Load what `serve` would load, and with --secure the contents of the security directory. ConfigError, OSError."""
    loaded = load(options, os.environ)
    if "--secure" not in options:
        return loaded, None
    from barnabas.broker.runtime.clock import wall_ms

    try:
        from barnabas.broker.server.secure.secure_config import look_for, settings_for
    except ImportError as missing:
        raise UsageError("doctor: --secure needs the package cryptography: pip install 'barnabas[secure]'") from missing
    content = look_for(loaded.config, wall_ms(), is_ephemeral="--ephemeral" in options)
    settings = settings_for(content.security, loaded.config, renames=owns_listener(options, loaded.config))
    return load(options, os.environ, settings), content


def _examine_security(
    options: Options, config: BrokerConfig, now_ms: int, content: DirectoryContent | None
) -> list[CheckResult]:
    """Return findings about secured listeners and the authorizer, if there are any. `content`: with --secure."""
    is_plain = not any(each.speaks_tls or each.speaks_sasl for each in config.listeners)
    if is_plain and not config.string("authorizer.class.name").strip():
        return []
    from barnabas.broker.cli.doctor.directory import catalogue_of
    from barnabas.broker.cli.doctor.security import examine

    is_ephemeral = "--ephemeral" in options
    catalogue = None if is_ephemeral else catalogue_of(config.metadata_dir)
    comes = content is not None and not content.has_certificate
    found = examine(config, catalogue, now_ms, adds_users="--add-scram" in options, certificate_comes=comes)
    if content is None:
        return found
    from barnabas.broker.cli.doctor import security_directory

    return [*security_directory.examine(content, is_ephemeral=is_ephemeral), *found]


def _examine_faults(options: Options, config: BrokerConfig) -> list[CheckResult]:
    """Return findings about the fault plan that `serve` would arm at its start."""
    try:
        plan = fault_plan(options, config, "doctor")
    except UsageError as refused:
        return [problem("faults", str(refused))]
    except OSError as error:
        return [problem("faults", f"{error.filename} cannot be read: {error.strerror}")]
    if plan is None:
        return []
    what = counted(len(plan.faults), "fault")
    return [note("faults", f"{what} of {options['--faults'][-1]} would be armed from the start: this is for tests")]


def _timeout_ms(options: Options) -> int:
    text = options.get("--request-timeout-ms", [str(_TIMEOUT_MS)])[-1]
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise UsageError(f"doctor: --request-timeout-ms {text} is not a whole number above 0")
    return int(text)


def _print(findings: Sequence[CheckResult]) -> None:
    width = max(len(each.check) for each in findings)
    for each in findings:
        print(f"{each.level:8} {each.check:{width}}  {each.text}")
        if each.advice:
            print(f"{'':8} {'':{width}}  -> {each.advice}")
    levels = [each.level for each in findings]
    print(", ".join(counted(levels.count(level), level) for level in (Level.PROBLEM, Level.WARNING)))


def _print_json(findings: Sequence[CheckResult]) -> None:
    is_fine = not any(each.level is Level.PROBLEM for each in findings)
    print_json({"fine": is_fine, "findings": [each._asdict() for each in findings]})


def _help() -> str:
    return f"""\
usage: barnabas doctor [OPTION …]

Find mistakes in a configuration. With the options of `barnabas serve`: would it start, and could clients use it?
With --bootstrap-server: can clients use the broker at this address?

options, besides those of `barnabas serve`:
{table_text(_OWN)}

The exit status is 1 if there is a problem."""
