"""The groups of tests: what each runs, what it needs, and how much processor time it may take.

`GROUPS` is the only list of the tests. They start in its order, on two processors two at a time, or more of those that
wait for much of the time (for JVMs, Spark, browsers, timers). Those that keep a processor busy for long come first,
and those that wait run beside them.

A run leaves out the tests marked `long`, and the groups and parts that are marked here as left out: they repeat the
others in more depth. `scripts/test --long` runs just these. Groups run the hot modules in the form that users get,
compiled; `fast` and `simulate` run the pure one, `crash` and `fuzz` a sample in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PURE, COMPILED = "pure", "compiled"  # BARNABAS_FORM: docs/compiled.md
OLDEST, NEWEST, NEXT = "3.11", "3.14", "3.15"
HALF = 0.5  # places of a group whose processor time is two thirds of its time by the clock, or less
QUARTER = 0.25  # and of one that takes a third, or less
CHANGED = "changed"  # the group of fast tests that --changed selects
JAVA = ("java", "javac", "mvn")
CLIENTS = (*JAVA, "kcat", "node", "npm", "go")
FRAMEWORKS = (*JAVA, "node", "npm", "make", "c++", "go", "cargo", "initdb")
IMAGE_BUILDERS = ("buildah", "mmdebstrap")


@dataclass(frozen=True)
class Group:
    """One line of the closing table: pytest over `paths` in the environment `venv`, or `command`."""

    name: str
    budget_s: float  # of processor time, on an idle machine of 2026; results.py marks what takes far more
    paths: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()  # what must be on the PATH
    long_programs: tuple[str, ...] = ()  # what must be there, too, for the tests that only --long runs
    venv: str = ".venv"
    lock: str = "dev"
    beside: tuple[str, ...] = ()  # locks of further environments, .venv-<lock>, that its tests start programs in
    python: str = ""  # the Python version that the environment is made with; "" is any that is supported
    places: float = 1  # of the machine's, one a processor, that it takes while it runs
    workers: int = 0  # pytest-xdist's; 0 runs the tests one after the other
    by_file: bool = False  # whether a worker takes whole files, because the tests of a file share a broker or a JVM
    is_measured: bool = False  # whether coverage is measured when all of its tests run
    is_in_memory: bool = False  # whether the folders of tests are there: on a disk, a test waits for each sync
    form: str = COMPILED  # of the hot modules, in the tests and in the brokers that they start
    marks: str = ""  # the tests that a run takes, by their marks, beside those that are not long
    is_left_out: bool = False  # whether only --long runs it

    def selection(self, *, is_long: bool) -> str:
        """Return pytest's expression of marks for the tests that a run takes, or for those that it leaves out."""
        if self.is_left_out:
            return ""
        taken = f"({self.marks}) and not long" if self.marks else "not long"
        return f"not ({taken})" if is_long else taken


FAST = (
    "tests/protocol",
    "tests/logfiles",
    "tests/storage",
    "tests/broker",
    "tests/client",
    "tests/registry",
    "tests/barnabas",
    "tests/pyspark_barnabas",
    "tests/pipeline",
)


HOT = (
    "tests/protocol",
    "tests/storage",
    "tests/broker/api/handlers",
    "tests/broker/coordinator",
    "tests/broker/partitions/share",
    "tests/registry",
    "tests/barnabas/test_form.py",
    "tests/simulation/test_both_forms.py",
)


def _of_the_runtime() -> tuple[str, ...]:
    """Return the fast tests whose outcome depends on the interpreter's runtime.

    Processes, threads, sockets, the event loop, the garbage collector. Features that a Python removed or changed show
    on the newest, where all fast tests run, and new features in the type checker, which checks for the oldest.
    """
    parts = ("cli", "clients/telemetry", "control/faults", "http", "network", "runtime", "security/session")
    files = sorted((ROOT / "tests" / "broker").glob("test_*.py"))
    return (
        "tests/barnabas",
        "tests/client",
        "tests/pipeline",
        *(f"tests/broker/{part}" for part in parts),
        *(str(path.relative_to(ROOT)) for path in files),
    )


def _fast(version: str, budget_s: float, paths: tuple[str, ...] = FAST) -> Group:
    """Return a group of fast tests on the Python `version`; coverage is measured where all of them run by default."""
    group = Group(f"fast-{version}", budget_s, paths, venv=f".venv-{version}", lock="test", python=version, form=PURE)
    return replace(group, is_measured=version == NEWEST, places=HALF, is_in_memory=True)


def _with_clients(name: str, budget_s: float, path: str) -> Group:
    """Return a group that mostly waits for programs: three files at a time, each with its brokers and JVMs."""
    return Group(name, budget_s, (path,), programs=CLIENTS, beside=("quixstreams",), workers=3, by_file=True)


def _with_spark(name: str, budget_s: float, path: str) -> Group:
    return Group(name, budget_s, (path,), programs=JAVA, venv=".venv-spark", lock="spark")


def _groups() -> Iterator[Group]:
    yield Group("check", 150, command=("scripts/check",), form=PURE)
    yield Group("simulate", 200, ("tests/simulation",), venv=f".venv-{NEWEST}", lock="test", python=NEWEST, form=PURE)
    yield _with_spark("spark", 400, "tests/spark")
    yield replace(_with_spark("chaos-pipeline", 70, "tests/chaos_pipeline"), places=QUARTER)
    yield Group("compiled", 100, HOT, is_in_memory=True)
    yield Group("compiled-all", 300, FAST[:-2], is_in_memory=True, is_left_out=True)
    yield _with_clients("clients", 270, "tests/compat")
    yield Group("oracle", 230, ("tests/oracle",), programs=JAVA, workers=2, by_file=True)
    yield _with_clients("transactions", 130, "tests/transactions")
    yield Group("container", 180, ("tests/container",), programs=IMAGE_BUILDERS)
    yield Group("codecs", 100, ("tests/codecs",), programs=JAVA)
    yield Group("embedding", 70, ("tests/embedding",), beside=("release",))
    yield Group("crash", 130, ("tests/crash",), places=HALF)
    yield Group("crash", 40, ("tests/crash",), form=PURE, marks="both_forms", places=HALF)
    yield Group("probes", 60, ("tests/probes",), places=QUARTER, is_in_memory=True)
    yield _fast(NEWEST, 250)
    yield _fast(OLDEST, 100, _of_the_runtime())
    yield replace(_fast(OLDEST, 360), name=f"fast-{OLDEST}-all", is_left_out=True)
    yield Group("stack", 95, ("tests/stack",), programs=JAVA, beside=("spark",), places=QUARTER)
    yield Group("console", 60, ("tests/console",), programs=("chromium",), places=HALF)
    yield Group("deploy", 40, ("tests/deploy",), programs=("go",), beside=("kubernetes",), places=HALF)
    yield Group("fuzz", 80, ("tests/fuzz",))
    yield Group("fuzz", 120, ("tests/fuzz",), form=PURE, is_left_out=True)
    yield Group("ecosystem", 20, ("tests/ecosystem",), places=HALF, long_programs=FRAMEWORKS)
    yield Group("pythons", 30, ("tests/pythons",), venv=f".venv-{NEXT}", lock="test", python=NEXT, form=PURE)


GROUPS = tuple(_groups())
