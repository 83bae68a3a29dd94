"""Kafka's own tests of its clients, as Maven Central has them compiled, run against Barnabas.

They are JUnit tests that take a `ClusterInstance`. Kafka's own extension for JUnit makes one in the JVM of the tests;
`tests/compat/java/own_tests` has another extension, which starts a Barnabas for each test.
"""

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.support.clients.java import FAST_START, compile_programs, logging_options
from tests.support.kafka.jars import own_tests_libs
from tests.support.processes.server import ROOT

SHIM = ROOT / "tests" / "compat" / "java" / "own_tests"
AT_ONCE = 4
"""How many tests run at the same time: they wait most of the time."""
_SETTINGS = {
    "extensions.autodetection.enabled": "true",
    "extensions.autodetection.exclude": "org.apache.kafka.*",  # Kafka's own extension
    "execution.parallel.enabled": "true",
    "execution.parallel.mode.default": "concurrent",
    "execution.parallel.config.strategy": "fixed",
    "execution.parallel.config.fixed.parallelism": AT_ONCE,
    "execution.parallel.config.fixed.max-pool-size": AT_ONCE,  # no further ones for those that wait
    "execution.timeout.mode": "disabled",  # 60 s for each, where ours holds for all
}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How tests ended: names of methods, each once for each of its clusters, and what JUnit said of the failures."""

    passed: Sequence[str]
    aborted: Sequence[str]
    failures: Sequence[str]


def run_own_tests(class_name: str, directory: Path, timeout_s: float, methods: Iterable[str] = ()) -> Outcomes:
    """Run the `methods` of a class, or all of them; brokers' data and JUnit's report go into `directory`."""
    selected = [f"--select-method={class_name}#{method}" for method in methods] or [f"--select-class={class_name}"]
    done = subprocess.run(
        [*_command(directory), *selected], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode in (0, 1), f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"  # 1: there are failures
    return _outcomes(ElementTree.parse(directory / "TEST-junit-jupiter.xml").iter("testcase"))


def _command(directory: Path) -> list[str]:
    libs = own_tests_libs()
    classes = compile_programs(sorted(SHIM.glob("*.java")), libs)
    properties = [f"-Dbarnabas={ROOT / '.venv' / 'bin' / 'barnabas'}", f"-Ddata={directory}"]
    options = [*FAST_START, *logging_options("WARN", "SYSTEM_ERR"), *properties]
    settings = [word for key, value in _SETTINGS.items() for word in ("--config", f"junit.jupiter.{key}={value}")]
    launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--details=summary", "--disable-banner"]
    path = f"{classes}:{SHIM}:{libs}/*"  # this order: one of the classes stands for one of Kafka of the same name
    return ["java", "-Xmx512m", *options, "-cp", path, *launcher, *settings, f"--reports-dir={directory}"]


def _outcomes(cases: Iterable[ElementTree.Element]) -> Outcomes:
    passed, aborted, failures = [], [], []
    for case in cases:
        name = case.attrib["name"].partition("(")[0]
        problems = [*case.iter("failure"), *case.iter("error")]
        if problems:
            failures.append(f"{name}: {problems[0].text}")
        elif case.find("skipped") is not None:
            aborted.append(name)
        else:
            passed.append(name)
    return Outcomes(sorted(passed), sorted(aborted), sorted(failures))
