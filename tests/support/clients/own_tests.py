"""Kafka's own tests of its clients, Streams and tools, as Maven Central has them compiled, run against Barnabas.

They are JUnit tests. Some take a `ClusterInstance`, which Kafka's own extension for JUnit makes in the JVM of the
tests; `tests/compat/java/own_tests` has another extension, which starts a Barnabas for each test. The others make an
`EmbeddedKafkaCluster` for each class; below it, a `KafkaClusterTestKit` of ours starts a Barnabas.
"""

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.support.clients.java import FAST_START, compile_programs, logging_options
from tests.support.kafka.jars import OWN_TESTS_VERSION, other_own_tests_libs, own_tests_libs, streams_libs
from tests.support.processes.server import ROOT

SHIM = ROOT / "tests" / "compat" / "java" / "own_tests"
AT_ONCE = 4
"""How many tests, or classes, run at the same time: they wait most of the time."""
_SETTINGS = {
    "extensions.autodetection.enabled": "true",
    "extensions.autodetection.exclude": "org.apache.kafka.*",  # Kafka's own extension
    "execution.parallel.enabled": "true",
    "execution.parallel.mode.classes.default": "concurrent",
    "execution.parallel.config.strategy": "fixed",
    "execution.parallel.config.fixed.parallelism": AT_ONCE,
    "execution.parallel.config.fixed.max-pool-size": AT_ONCE,  # no further ones for those that wait
    "execution.timeout.mode": "disabled",  # 60 s for each, where ours holds for all
}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The tests that passed, `Class#method`, once for each cluster or parameter, and JUnit's words on failures."""

    passed: Sequence[str]
    failures: Sequence[str]


def run_own_tests(
    selected: Iterable[str], directory: Path, timeout_s: float, *, one_by_one: bool, left_out: Iterable[str] = ()
) -> Outcomes:
    """Run classes, `package.Class`, or methods, `package.Class#method`; data and JUnit's report go into `directory`.

    one_by_one: the methods of a class share a cluster, so only classes run at the same time.
    left_out: regular expressions that find methods to leave out.
    """
    selectors = [f"--select-{'method' if '#' in name else 'class'}={name}" for name in selected]
    selectors += [f"--exclude-methodname=.*({each}).*" for each in left_out]
    mode = "same_thread" if one_by_one else "concurrent"
    done = subprocess.run(
        [*_command(directory, mode), *selectors], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode in (0, 1), f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"  # 1: there are failures
    return _outcomes(ElementTree.parse(directory / "TEST-junit-jupiter.xml").iter("testcase"))


def _command(directory: Path, mode: str) -> list[str]:
    libs = own_tests_libs()
    classes = compile_programs(sorted(SHIM.glob("*.java")), libs)
    properties = {"barnabas": ROOT / ".venv" / "bin" / "barnabas", "data": directory, "java.io.tmpdir": directory}
    options = [*FAST_START, *logging_options("WARN", "SYSTEM_ERR"), *(f"-D{k}={v}" for k, v in properties.items())]
    settings = {**_SETTINGS, "execution.parallel.mode.default": mode}
    config = [word for key, value in settings.items() for word in ("--config", f"junit.jupiter.{key}={value}")]
    launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--details=summary", "--disable-banner"]
    # In this order: some of the classes stand for those of Kafka of the same name.
    jars = libs, streams_libs(OWN_TESTS_VERSION), other_own_tests_libs()
    path = ":".join([str(classes), str(SHIM), *(f"{each}/*" for each in jars)])
    return ["java", "-Xmx700m", *options, "-cp", path, *launcher, *config, f"--reports-dir={directory}"]


def _outcomes(cases: Iterable[ElementTree.Element]) -> Outcomes:
    passed, failures = [], []
    for case in cases:
        name = f"{case.attrib['classname'].rpartition('.')[2]}#{case.attrib['name'].partition('(')[0]}"
        problems = [*case.iter("failure"), *case.iter("error")]
        if problems:
            failures.append(f"{name}: {problems[0].text}")
        elif case.find("skipped") is None:
            passed.append(name)
    return Outcomes(sorted(passed), sorted(failures))
