"""Installs what the rows' programs need, once, and returns the commands that run them.

Each Python program has an environment of its own in .cache/ecosystem, made by uv of the lock beside the programs.
Java's jars come from Maven as Kafka's own do. Each Go program is a module of its own, so that the versions of one
do not change another's. The packages of JavaScript and the crates of Rust are those of the locks beside the programs.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts._pythons import find_python
from tests.support.clients.go import Built
from tests.support.clients.java import program_command
from tests.support.clients.npm import install
from tests.support.clients.rust import build
from tests.support.ecosystem.row import PROGRAMS, Row
from tests.support.ecosystem.rows import ROWS
from tests.support.kafka.jars import framework_libs
from tests.support.processes.server import ROOT

CACHE = ROOT / ".cache" / "ecosystem"
LOCKS = PROGRAMS / "python" / "locks"
PYTHON_VERSION = "3.11"  # there are wheels of each program for it
_UV = str(Path(sys.executable).with_name("uv"))


def command(row: Row, *arguments: str) -> list[str]:
    """The command that runs a row's program, with what it needs installed."""
    return [*_LAUNCHERS[row.source.suffix](row), *arguments]


def install_quick_rows() -> None:
    """Have what the tests without --long need."""
    for row in ROWS:
        if row.is_quick:
            command(row)


def lock_of(row: Row) -> Path:
    """The lock of a Python program: its pins and all that they need, with hashes."""
    return LOCKS / f"{row.source.stem}.txt"


def write_locks() -> None:
    """Write the locks of the Python programs anew."""
    for row in ROWS:
        if row.source.suffix == ".py":
            options = ["--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--quiet"]
            place = ["--python-version", PYTHON_VERSION, "--universal", "--output-file", str(lock_of(row)), "-"]
            subprocess.run([_UV, "pip", "compile", *options, *place], input="\n".join(row.pins), text=True, check=True)


def _python(row: Row) -> list[str]:
    lock = lock_of(row)
    home = CACHE / f"{lock.stem}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    python = home / "bin" / "python"
    with _only_one(home) as is_done:
        if not is_done:
            subprocess.run(
                [_UV, "venv", "--quiet", "--clear", "--python", find_python(PYTHON_VERSION), home], check=True
            )
            install = [_UV, "pip", "install", "--quiet", "--require-hashes", "--python", str(python)]
            subprocess.run([*install, "--requirement", str(lock)], check=True)
    return [str(python), str(row.source)]


@contextmanager
def _only_one(home: Path) -> Iterator[bool]:
    """Hold the lock of a folder and say whether it was made before; a file beside it says so from the end on."""
    CACHE.mkdir(parents=True, exist_ok=True)
    done = home.with_name(f"{home.name}.done")
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield done.exists()
        done.touch()


def _java(row: Row) -> list[str]:
    return program_command(row.source, libs=framework_libs(row.pins, row.left_out))


def _go(row: Row) -> list[str]:
    return [str(Built(f"ecosystem-{row.source.stem}", ("build", "."), row.source.parent)())]


def _javascript(row: Row) -> list[str]:
    """Where Confluent's client finds no build of itself it compiles librdkafka, which takes minutes, once."""
    node = shutil.which("node")
    if node is None:
        raise RuntimeError("the JavaScript programs run on Node.js: install it (nodejs and npm)")
    prefix = Path(node).resolve().parents[1]
    headers = {"npm_config_nodedir": str(prefix)} if (prefix / "include" / "node").exists() else {}
    install(row.source.parent, CKJS_LINKING="dynamic", **headers)  # a static one would fetch zlib and others
    return [node, str(row.source)]


def _rust(row: Row) -> list[str]:
    return [str(build(PROGRAMS / "rust", row.source.stem))]


_LAUNCHERS: dict[str, Callable[[Row], list[str]]] = {
    ".py": _python,
    ".java": _java,
    ".go": _go,
    ".mjs": _javascript,
    ".rs": _rust,
}
