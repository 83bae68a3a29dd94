"""Checks the files of a release: their metadata and contents, and that each wheel works in an empty environment.

A wheel is installed with what it asks for, in the versions and with the hashes of a lock. Its broker serves, and a
record goes in and comes out: by the commands of `barnabas`, and by the client in `pyspark-barnabas`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.releasing.building import BROKER, SPARK, Files
from scripts.releasing.process import ROOT, NoRelease, run, run_module

_LOCKS = {BROKER: "serve", SPARK: "spark"}
_EXTRAS = {BROKER: "secure,seeds", SPARK: "secure"}
_RECORD = "a messenger from the castle"
_SPARK_CLIENT = """
import sys
from pyspark_barnabas import options
from pyspark_barnabas._barnabas.client.consume.consumer import Consumer
from pyspark_barnabas._barnabas.client.produce.producer import Producer
sink = options.sink({"kafka.bootstrap.servers": sys.argv[1], "topic": "released"})
with sink.connection.client() as client:
    with Producer(client) as producer:
        producer.send(sink.topic, sys.argv[2].encode(), partition=0)
    consumer = Consumer(client, auto_offset_reset="earliest")
    consumer.assign([(sink.topic, 0)])
    print(consumer.poll(10_000)[-1].record.value.decode())
"""


@dataclass(frozen=True)
class Home:
    """An environment with one wheel, and with what that asks for."""

    directory: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.directory / "bin" / "python"

    def barnabas(self, *arguments: str, given: str = "", form: str) -> str:
        """Run a command of `barnabas` in that form."""
        program = self.directory / "bin" / "barnabas"
        return run(program, *arguments, cwd=self.directory, given=given, BARNABAS_FORM=form)


def check_metadata(files: Files) -> None:
    """Raise NoRelease if an index would refuse a file, or a wheel has what does not belong in it."""
    run_module("twine", "check", "--strict", *files.archives.values(), *files.wheels)
    run_module("check_wheel_contents", "--no-config", *files.pure.values())
    if files.compiled:  # W004: the folder of the compiled modules is found by barnabas/form.py, and not by its name
        run_module("check_wheel_contents", "--no-config", "--ignore", "W004", files.compiled)


def serve(files: Files, scratch: Path) -> dict[str, Home]:
    """Install every wheel, use it, and return the environments of the pure ones, by distribution."""
    homes = {name: _install(name, wheel, scratch / f"home-{name}") for name, wheel in files.pure.items()}
    _serve_by_commands(homes[BROKER], "pure")
    if files.compiled:
        _serve_by_commands(_install(BROKER, files.compiled, scratch / "home-compiled"), "compiled")
    with _broker(homes[BROKER], "pure") as address:
        spark = homes[SPARK]
        printed = run(spark.python, "-I", "-c", _SPARK_CLIENT, address, _RECORD, cwd=spark.directory)
    _expect(printed, "the client in pyspark-barnabas")
    return homes


def _install(name: str, wheel: Path, directory: Path) -> Home:
    home = Home(directory)
    asked = directory.with_suffix(".in")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    asked.write_text(f"{name}[{_EXTRAS[name]}] @ {wheel.as_uri()} --hash=sha256:{digest}\n", "utf-8")
    run_module("uv", "venv", "--quiet", "--python", sys.executable, directory)
    lock = ROOT / "requirements" / f"{_LOCKS[name]}.txt"
    run_module("uv", "pip", "install", "--quiet", "--python", home.python, "--require-hashes", "-c", lock, "-r", asked)
    return home


def _serve_by_commands(home: Home, form: str) -> None:
    if form not in home.barnabas("--version", form=form):
        raise NoRelease(f"the {form} wheel does not run its {form} modules")
    with _broker(home, form) as address:
        of_it = ("--bootstrap-server", address, "released")
        home.barnabas("produce", *of_it, given=f"{_RECORD}\n", form=form)
        _expect(home.barnabas("consume", "--from-beginning", "--exit-at-end", *of_it, form=form), f"the {form} wheel")


def _expect(printed: str, where: str) -> None:
    if printed != f"{_RECORD}\n":
        raise NoRelease(f"{where} got {printed!r} in place of the record that it had sent")


@contextmanager
def _broker(home: Home, form: str) -> Iterator[str]:
    """Run the broker of a wheel; the value is its address."""
    arguments = ("--ephemeral", "--port", "0", "--topic", "released", "--stop-with-stdin", "--log-level", "error")
    with subprocess.Popen(
        [home.directory / "bin" / "barnabas", "serve", *arguments],
        cwd=home.directory,
        env={"BARNABAS_FORM": form, "PATH": "/usr/bin:/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as broker:
        assert broker.stdin is not None
        assert broker.stdout is not None
        ready = broker.stdout.readline().split()
        if ready[:2] != ["barnabas", "ready"]:
            raise NoRelease(f"the broker of the {form} wheel did not start")
        try:
            yield ready[2]
        finally:
            broker.stdin.close()
    if broker.returncode != 0:
        raise NoRelease(f"the broker of the {form} wheel ended with status {broker.returncode}")
