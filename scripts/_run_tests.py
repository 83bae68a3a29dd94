"""Run the groups of tests, each with what it needs, and end with a table that hides nothing.

`GROUPS` is the one truth about which tests there are, what they need and how long they may take. A group that needs
a program which is not there installs it where it may (root on a machine with apt), and otherwise says what to install:
the table then shows it as not run, and with CI=true that is a failure. So is a group that takes over twice its budget.
Groups run the hot modules in the form that users get, compiled. `fast` runs the pure ones, and groups that say so both.
The coverage of the fast tests is measured on one Python, where all of them run; so is one that has less than the floor.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
CI = os.environ.get("CI") == "true"
UNTESTED = ROOT / ".cache" / "coverage" / "untested.txt"
PURE, COMPILED = "pure", "compiled"  # BARNABAS_FORM: docs/compiled.md
MEASURED_ON = "3.13"  # where coverage sees lines for nothing; branches, from 3.14 on only, cost as much as the tests
NOT_LONG = ("-m", "not long")
JAVA = ("java", "javac", "mvn")
CLIENTS = (*JAVA, "kcat", "node", "npm", "go")
IMAGE_BUILDERS = ("buildah", "mmdebstrap")
DEBIAN_PACKAGES = {
    "buildah": "buildah",
    "cc": "gcc",
    "chromium": "chromium",
    "java": "openjdk-17-jdk-headless",
    "javac": "openjdk-17-jdk-headless",
    "kcat": "kcat",
    "mmdebstrap": "mmdebstrap",
    "mvn": "maven",
    "node": "nodejs",
    "npm": "npm",
}
ELSEWHERE = {"go": "Go 1.26 or later from https://go.dev/dl (Debian's golang-go is too old)"}


@dataclass(frozen=True)
class Group:
    """One line of the closing table: pytest over `paths` in the environment `venv`, or `command`."""

    name: str
    budget_s: float
    paths: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()  # what must be on the PATH
    venv: str = ".venv"
    lock: str = "dev"
    beside: tuple[str, ...] = ()  # locks of further environments, .venv-<lock>, that its tests start programs in
    python: str = ""  # the Python version that the environment is made with; "" is any that is supported
    workers: int = 0  # pytest-xdist's; 0 runs the tests one after the other
    by_file: bool = False  # whether a worker takes whole files, because the tests of a file share a broker or a JVM
    is_measured: bool = False  # whether coverage is measured when all of its tests run
    form: str = COMPILED  # of the hot modules, in the tests and in the brokers that they start
    in_both_forms: bool = False  # where a difference between the forms would be worst


def _fast() -> Iterator[Group]:
    yield Group("check", 60, command=("scripts/check",), form=PURE)
    paths = (
        "tests/protocol",
        "tests/logfiles",
        "tests/storage",
        "tests/broker",
        "tests/client",
        "tests/barnabas",
        "tests/pyspark_barnabas",
        "tests/pipeline",
    )
    for version, budget_s, chosen in (("3.11", 200, paths), ("3.12", 90, _of_the_runtime()), ("3.13", 200, paths)):
        venv = f".venv-{version}"
        group = Group(f"fast-{version}", budget_s, chosen, venv=venv, lock="test", python=version, workers=2, form=PURE)
        yield replace(group, is_measured=version == MEASURED_ON)


def _of_the_runtime() -> tuple[str, ...]:
    """The fast tests whose outcome depends on the interpreter's runtime, for a Python between the oldest and newest.

    What a Python brought shows on the oldest, which has it not, and what one took away on the newest. In between only
    its processes, threads, sockets, event loop and garbage collector can behave as on neither.
    """
    parts = ("cli", "console", "control", "events", "faults", "http", "net", "session", "telemetry", "workers")
    files = sorted((ROOT / "tests" / "broker").glob("test_*.py"))
    return (
        "tests/barnabas",
        "tests/client",
        "tests/pipeline",
        *(f"tests/broker/{part}" for part in parts),
        *(str(path.relative_to(ROOT)) for path in files),
    )


def _with_clients(name: str, budget_s: float, path: str) -> Group:
    """Tests that mostly wait for programs: two at a time, and each file with its brokers and JVMs on one worker."""
    return Group(name, budget_s, (path,), programs=CLIENTS, beside=("quixstreams",), workers=2, by_file=True)


def _compiled() -> Group:
    paths = ("tests/protocol", "tests/storage", "tests/broker", "tests/client", "tests/logfiles", "tests/barnabas")
    return Group("compiled", 160, paths, workers=2)


GROUPS: dict[str, tuple[Group, ...]] = {
    "fast": tuple(_fast()),
    "compiled": (_compiled(),),
    "simulate": (Group("simulate", 300, ("tests/simulation",), form=PURE),),
    "crash": (Group("crash", 150, ("tests/crash",), workers=2, in_both_forms=True),),
    "fuzz": (Group("fuzz", 60, ("tests/fuzz",), workers=2, in_both_forms=True),),
    "probes": (Group("probes", 80, ("tests/probes",)),),
    "embedding": (Group("embedding", 80, ("tests/embedding",), workers=2),),
    "codecs": (Group("codecs", 180, ("tests/codecs",), programs=JAVA, workers=2),),
    "clients": (_with_clients("clients", 330, "tests/compat"),),
    "transactions": (_with_clients("transactions", 240, "tests/transactions"),),
    "console": (Group("console", 120, ("tests/console",), programs=("chromium",)),),
    "stack": (Group("stack", 140, ("tests/stack",), programs=JAVA, beside=("spark",)),),
    "spark": (Group("spark", 480, ("tests/spark",), programs=JAVA, venv=".venv-spark", lock="spark"),),
    "chaos-pipeline": (
        Group("chaos-pipeline", 300, ("tests/chaos_pipeline",), programs=JAVA, venv=".venv-spark", lock="spark"),
    ),
    "oracle": (Group("oracle", 200, ("tests/oracle",), programs=JAVA, workers=2, by_file=True),),
    "container": (Group("container", 180, ("tests/container",), programs=IMAGE_BUILDERS),),
}


class CannotRun(Exception):
    """A group lacks something; the message says what, and how to get it."""


@dataclass(frozen=True)
class Row:
    """What became of one group."""

    group: Group
    outcome: str
    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    coverage: str = ""  # the total, where it was measured
    notes: tuple[str, ...] = ()  # what tests have to tell whoever reads the table

    @property
    def is_good(self) -> bool:
        return self.outcome == "ran" or (self.outcome.startswith("not run") and not CI)


def main(arguments: list[str]) -> int:
    groups, pytest_arguments = _parse(arguments)
    rows = [_run(group, pytest_arguments) for group in groups]
    _print_table(rows)
    return 0 if all(row.is_good for row in rows) else 1


def _parse(arguments: list[str]) -> tuple[list[Group], list[str]]:
    """The groups to run, once for each form, and pytest's arguments for each."""
    own, for_pytest = arguments, []
    if "--" in arguments:
        split = arguments.index("--")
        own, for_pytest = arguments[:split], arguments[split + 1 :]
    parser = argparse.ArgumentParser(
        prog="scripts/test", description="Run Barnabas's tests.", epilog="What follows -- is passed on to pytest."
    )
    parser.add_argument("group", nargs="*", help=f"any of {', '.join(GROUPS)}; all of them when none is named")
    parser.add_argument("--long", action="store_true", help="also the tests that are marked long")
    parser.add_argument("--form", choices=(PURE, COMPILED), help="of the hot modules, in place of a group's own")
    options = parser.parse_args(own)
    for name in options.group:
        if name not in GROUPS:
            parser.error(f"no group {name!r}: there are {', '.join(GROUPS)}")
    depth = () if options.long else NOT_LONG
    groups = [group for name in options.group or GROUPS for group in GROUPS[name]]
    return [each for group in groups for each in _in_forms(group, options.form)], [*depth, *for_pytest]


def _in_forms(group: Group, wished: str | None) -> list[Group]:
    """The group in its form or forms, or in the form that was wished. Coverage does not see compiled modules."""
    forms = [wished] if wished else [group.form, *([PURE] if group.in_both_forms else [])]
    return [replace(group, form=form, is_measured=group.is_measured and form == PURE) for form in forms]


def _run(group: Group, pytest_arguments: list[str]) -> Row:
    print(f"\n=== {group.name}, {group.form}", flush=True)
    try:
        _set_up(group)
    except CannotRun as reason:
        print(reason, flush=True)
        return Row(group, f"not run: {reason}")
    is_measured = group.is_measured and tuple(pytest_arguments) in ((), NOT_LONG)
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = list(group.command) or _pytest(group, report, pytest_arguments, is_measured=is_measured)
        started = time.monotonic()
        status = _run_within(["env", f"BARNABAS_FORM={group.form}", *command], 3 * group.budget_s)
        row = _read_report(Row(group, "ran", time.monotonic() - started), report, status)
    if row.failed:
        return replace(row, outcome="FAILED")
    if status != 0:
        return replace(row, outcome=f"FAILED: exit status {status}", failed=1)
    if row.seconds > 2 * group.budget_s:
        return replace(row, outcome="FAILED: over twice its budget", failed=1)
    return _with_coverage(row) if is_measured else row


def _run_within(command: list[str], timeout_s: float) -> int:
    """The exit status of `command`. A test that hangs is shown by SIGABRT, at which pytest prints where it stands."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        return process.wait()


def _pytest(group: Group, report: Path, arguments: list[str], *, is_measured: bool) -> list[str]:
    python = str(ROOT / group.venv / "bin" / "python")
    program = [python, "-m", "pytest"]
    if is_measured:
        shutil.rmtree(UNTESTED.parent, ignore_errors=True)  # what a run measured that did not come to its end
        UNTESTED.parent.mkdir(parents=True, exist_ok=True)
        program = [python, "-m", "coverage", "run", "-m", "pytest"]
    workers = ["-n", str(group.workers)] if group.workers else []
    if group.by_file:
        workers += ["--dist", "loadfile"]
    return [*program, "-q", f"--junitxml={report}", *workers, *arguments, *group.paths]


def _with_coverage(row: Row) -> Row:
    """The row with its coverage; UNTESTED has the details. Below the floor of pyproject.toml it has failed."""
    coverage = [str(ROOT / row.group.venv / "bin" / "python"), "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=False)  # one file from each process
    reported = subprocess.run([*coverage, "report"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    UNTESTED.write_text(reported.stdout)
    total = next((line.split()[-1] for line in reported.stdout.splitlines() if line.startswith("TOTAL")), "unknown")
    print(f"coverage {total}; what no test reached, by file: {UNTESTED.relative_to(ROOT)}", flush=True)
    if reported.returncode == 0:
        return replace(row, coverage=total)
    why = "coverage below its floor" if reported.returncode == 2 else "its coverage could not be told"
    return replace(row, outcome=f"FAILED: {why}", failed=1, coverage=total)


def _read_report(row: Row, report: Path, status: int) -> Row:
    """Count from pytest's report; a command that is not pytest counts as one test."""
    if not report.exists():
        return replace(row, passed=int(status == 0), failed=int(status != 0))
    suite = ElementTree.parse(report).getroot().find("testsuite")  # nosec B314 - written by our own pytest
    if suite is None:
        return replace(row, failed=1)
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    skipped = int(suite.get("skipped", 0))
    notes = tuple(each.get("value", "") for each in suite.iter("property") if each.get("name") == "note")
    passed = int(suite.get("tests", 0)) - failed - skipped
    return replace(row, passed=passed, failed=failed, skipped=skipped, notes=notes)


def _set_up(group: Group) -> None:
    python = _find_python(group.python) if group.python else ""
    wanted = [(group.venv, group.lock, *([python] if python else [])), *((f".venv-{it}", it) for it in group.beside)]
    for environment in wanted:
        if subprocess.run(["scripts/setup_venv", *environment], cwd=ROOT, check=False).returncode != 0:
            raise CannotRun(f"{environment[0]} could not be set up")
    _find_programs(group.programs)
    if group.form == COMPILED:
        _find_programs(("cc",))
        _compile_hot_modules(group)
    if "mvn" in group.programs:
        _fetch_jars()
    if group.name == "stack":
        _fetch_registry()
    if "npm" in group.programs:
        _install_javascript_clients()
    if "go" in group.programs:
        _build_go_clients()
    if "buildah" in group.programs:
        _make_base_image()


def _find_programs(programs: tuple[str, ...]) -> None:
    """Have every one of `programs` on the PATH."""
    missing = [program for program in programs if shutil.which(program) is None]
    elsewhere = [ELSEWHERE[program] for program in missing if program in ELSEWHERE]
    if elsewhere:
        raise CannotRun(f"needs a program that is not here: {', '.join(elsewhere)}")
    if missing:
        _install([DEBIAN_PACKAGES[program] for program in missing])


def _find_python(version: str) -> str:
    """A Python of `version`, from the PATH or among pyenv's, whose own `python3.12` may refuse to start."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))]
    for candidate in candidates:
        if shutil.which(candidate) and _answers(candidate, version):
            return candidate
    raise CannotRun(f"there is no Python {version}")


def _answers(python: str, version: str) -> bool:
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    asked = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    return asked.stdout.strip() == version


def _install(packages: list[str]) -> None:
    """Install Debian `packages`, where that can be done without asking anybody."""
    wanted = " ".join(dict.fromkeys(packages))
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise CannotRun(f"needs a program that is not here (Debian: apt install {wanted})")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in ("apt-get -qq update", f"apt-get -qq -y --no-install-recommends install {wanted}"):
        if subprocess.run(command.split(), env=environment, stdin=subprocess.DEVNULL, check=False).returncode != 0:
            raise CannotRun(f"`{command}` failed")


def _compile_hot_modules(group: Group) -> None:
    """Have them compiled before the clock of a group starts: for the brokers, which run in .venv, and for its tests."""
    for python in (".venv/bin/python", f"{group.venv}/bin/python"):
        if subprocess.run(["scripts/compile", python], cwd=ROOT, check=False).returncode != 0:
            raise CannotRun("the hot modules could not be compiled; --form pure runs the tests on the pure ones")


def _fetch_jars() -> None:
    """Have Apache Kafka's jars in .cache before the clock of a group starts."""
    if not _prepare("from tests.support.kafka.jars import fetch_all; fetch_all()"):
        raise CannotRun("Apache Kafka's jars could not be fetched")


def _fetch_registry() -> None:
    """Have Apicurio Registry in .cache: 159 MB that only one group needs."""
    if not _prepare("from tests.support.kafka.jars import fetch_registry; fetch_registry()"):
        raise CannotRun("Apicurio Registry could not be fetched")


def _install_javascript_clients() -> None:
    """Have in node_modules what the locks say."""
    if not _prepare("from tests.support.clients.npm import install_clients; install_clients()"):
        raise CannotRun("the JavaScript clients could not be installed")


def _build_go_clients() -> None:
    """Have the programs of the Go clients, and franz-go's own tests, in .cache before the clock of a group starts."""
    if not _prepare("from tests.support.clients.go import build_all; build_all()"):
        raise CannotRun("the Go clients could not be built")


def _make_base_image() -> None:
    """Have a Debian with Python for the image to stand on. That takes root: there is no Docker engine in between."""
    if os.geteuid() != 0:
        raise CannotRun("needs root, to make an image without a Docker engine")
    if not _prepare("from tests.support.processes.container import make_base; make_base()"):
        raise CannotRun("the image's base could not be made in a chroot")


def _prepare(program: str) -> bool:
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def _print_table(rows: list[Row]) -> None:
    titles = f"{'seconds':>8} {'budget':>7} {'passed':>7} {'failed':>7} {'skipped':>8}  outcome"
    print(f"\n{'group':<14} {'form':<8} {titles}")
    for row in rows:
        coverage = f", coverage {row.coverage}" if row.coverage else ""
        print(
            f"{row.group.name:<14} {row.group.form:<8} {row.seconds:>8.1f} {row.group.budget_s:>7.0f}"
            f" {row.passed:>7} {row.failed:>7} {row.skipped:>8}  {row.outcome}{coverage}"
        )
        for note in row.notes:
            print(f"{'':<15}{note}")
    not_run = sum(not row.is_good for row in rows if row.outcome.startswith("not run"))
    totals = [sum(row.passed for row in rows), sum(row.failed for row in rows) + not_run]
    print(f"\n{totals[0]} passed, {totals[1]} failed", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
