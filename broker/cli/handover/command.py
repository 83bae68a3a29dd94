"""`barnabas handover`: is a stopped directory ready for Apache Kafka, and with which settings does Kafka continue?

Read-only. The exit status is 0 if the directory is ready, 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.cli.serving.serve_options import Options, load
from barnabas.broker.cli.terminal.failures import FAILURE, UsageError
from barnabas.broker.cli.terminal.options import Parser, at_most, positive
from barnabas.broker.cli.terminal.output import counted, print_json

if TYPE_CHECKING:
    from barnabas.broker.cli.doctor.finding import CheckResult
    from barnabas.broker.cli.handover.check import HandoverReport
    from barnabas.broker.config import LoadedConfig

_PORT_MAX = 65_535


def run(arguments: Sequence[str]) -> int:
    """Run the command. Return the exit status: 0 if the directory is ready for Kafka, 1 if there is a problem."""
    from barnabas.broker.cli.handover.check import check
    from barnabas.broker.cli.handover.releases import RELEASES, release_of
    from barnabas.broker.runtime import log_lines

    options = _parser().parse_args(arguments)
    release = release_of(options.to)
    if release is None:
        raise UsageError(f"handover: --to {options.to!r} is not a known release: {', '.join(RELEASES)}")
    loaded = _load(options)
    config = loaded.config
    log_lines.configure("error")
    paths = list(dict.fromkeys(map(os.path.abspath, (*config.data_dirs, config.metadata_dir))))
    metadata_dir = os.path.abspath(config.metadata_dir)
    if options.properties:
        return _print_properties(loaded, metadata_dir, options)
    report = check(paths, metadata_dir, release)
    if options.json:
        _print_json(report)
    else:
        _print(report)
    return 0 if report.is_ready else FAILURE


def _parser() -> Parser:
    from barnabas.broker.cli.handover.properties import CONTROLLER_PORT
    from barnabas.broker.cli.handover.releases import NEWEST

    parser = Parser(prog="barnabas handover", description="Hand a stopped data directory over to Apache Kafka.")
    parser.add_argument(
        "directory", nargs="*", metavar="DIR", help="the data directory, or all data directories of the node"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--check", action="store_true", help="print whether it is ready, and what will change (the default)"
    )
    what.add_argument("--properties", action="store_true", help="print a server.properties for Apache Kafka")
    parser.add_argument(
        "--to", default=NEWEST, metavar="VERSION", help=f"the version of Apache Kafka (default {NEWEST})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--controller-port",
        type=at_most(_PORT_MAX, positive),
        default=CONTROLLER_PORT,
        metavar="PORT",
        help=f"where Kafka's controller listens, on localhost (default {CONTROLLER_PORT})",
    )
    served = parser.add_argument_group("the options of barnabas serve")
    for flag, value in (("--host", "HOST"), ("--port", "PORT"), ("--config", "FILE"), ("--set", "KEY=VALUE")):
        served.add_argument(flag, action="append", metavar=value, help="as barnabas serve")
    return parser


def _load(options: argparse.Namespace) -> LoadedConfig:
    given: Options = {}
    for name in ("host", "port", "config", "set"):
        if getattr(options, name):
            given[f"--{name}"] = getattr(options, name)
    if options.directory:
        given["--data-dir"] = [",".join(options.directory)]
    return load(given, os.environ)


def _print_properties(loaded: LoadedConfig, metadata_dir: str, options: argparse.Namespace) -> int:
    from barnabas.broker.cli.handover.properties import NodeDirectories, server_properties
    from barnabas.broker.cli.handover.stopped_directory import open_stopped
    from barnabas.broker.config.unknown_keys import UNKNOWN_KEY

    config = loaded.config
    directories = [os.path.abspath(path) for path in config.data_dirs]
    stopped, findings = open_stopped(list(dict.fromkeys((*directories, metadata_dir))), metadata_dir)
    if stopped is None:
        raise UsageError(f"handover: {findings[0].text}")
    place = NodeDirectories(stopped.meta.node_id, directories, metadata_dir, stopped.has_voters)
    try:
        print(server_properties(config, place, options.controller_port), end="")
    except ValueError as clash:
        raise UsageError(f"handover: --controller-port: {clash}") from clash
    for warning in loaded.warnings:
        if warning.startswith(UNKNOWN_KEY):
            print(f"# left out, unknown to barnabas: {warning.removeprefix(UNKNOWN_KEY).partition(':')[0]}")
    return 0


def _print(report: HandoverReport) -> None:
    width = max(len(each.check) for each in report.findings)
    for each in report.findings:
        print(_line(each, width))
    if not report.is_ready:
        print(f"not ready for Apache Kafka {report.release}")
        return
    topics, partitions = counted(report.facts["topics"], "topic"), counted(report.facts["partitions"], "partition")
    of = f"node {report.facts['node_id']} of cluster {report.facts['cluster_id']}"
    print(f"ready for Apache Kafka {report.release}: {of}, {topics}, {partitions}")


def _line(finding: CheckResult, width: int) -> str:
    advice = f" -> {finding.advice}" if finding.advice else ""
    return f"{finding.level:8} {finding.check:{width}}  {finding.text}{advice}"


def _print_json(report: HandoverReport) -> None:
    findings = [each._asdict() for each in report.findings]
    print_json({"ready": report.is_ready, "to": report.release, **report.facts, "findings": findings})
