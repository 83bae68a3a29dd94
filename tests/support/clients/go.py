"""Programs that are written in Go, clients and helm, built once for what their sources and their lock say.

Go fetches the modules that go.mod names, checks them against go.sum, and keeps them for all checkouts.
"""

import hashlib
import os
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "compat" / "go"
EXAMPLE = ROOT / "examples" / "go"
CHART_TOOLS = ROOT / "tests" / "deploy" / "tools"
OPTIONS = ("-mod=readonly", "-trimpath", "-gcflags=all=-N -l")
"""The last one is: without optimization. So building takes a quarter less processor time."""


@dataclass(frozen=True)
class Built:
    """A program that `go <command>` builds: a call returns it, built if it is not in .cache yet."""

    name: str
    command: tuple[str, ...]
    sources: Path = SOURCES

    def __call__(self) -> Path:
        return _built(self.name, *self.command, sources=self.sources)


go_clients = Built("clients", ("build", "."))
"""Speaks through each of the clients."""
go_transactions = Built("transactions", ("build", "./transactions"))
"""Takes the steps of tests/transactions/model.py through each of the clients."""
group_member = Built("group-member", ("build", "./group_member"))
"""A member of a group that prints what it sees."""
under_faults = Built("under-faults", ("build", "./under_faults"))
"""Plays the scenarios of tests/compat/under_faults through franz-go."""
history_writer = Built("history-writer", ("build", "./history_writer"))
"""Has producers and readers of franz-go do what tests/support/histories/remote.py says."""
go_secured = Built("secured", ("build", "./secured"))
"""Speaks through franz-go or sarama over a secured listener."""
franz_go_tests = Built("franz-go.test", ("test", "-c", "github.com/twmb/franz-go/pkg/kgo"))
"""The tests that franz-go brings along in its module, of which some want a broker."""
go_example = Built("example.test", ("test", "-c", "."), EXAMPLE)
"""The Go example of docs/testing.md, as a program that runs its tests."""
older_sarama = Built("older-sarama", ("build", "."), SOURCES / "older_sarama")
"""Writes through a Sarama of before 1.45.1, in its own module, as it is another version."""
go_serializers = Built("serializers", ("build", "."), SOURCES / "serializers")
"""Writes and reads Avro through two clients of schema registries, in its own module."""
confluent_kafka_go = Built("librdkafka", ("build", "."), SOURCES / "librdkafka")
"""Speaks through confluent-kafka-go: librdkafka again, in its own module for its size."""
helm = Built("helm", ("build", "helm.sh/helm/v4/cmd/helm"), CHART_TOOLS)
"""Renders the chart in deploy/helm. It takes some minutes to build, and only tests/deploy has a use for it."""


def build_all() -> None:
    """Have everything that the tests without --long need."""
    for program in (go_clients, go_transactions, group_member, under_faults, history_writer, go_secured):
        program()
    for program in (franz_go_tests, older_sarama, go_example, go_serializers):
        program()


def _built(name: str, *command: str, sources: Path = SOURCES) -> Path:
    """It is safe to call from several places at once."""
    text = b"".join(path.read_bytes() for path in sorted(sources.rglob("*.*")))
    program = ROOT / ".cache" / "go" / hashlib.sha256(text).hexdigest()[:16] / name
    if not program.exists():
        if shutil.which("go") is None:
            raise RuntimeError("the Go clients are built with Go 1.26 or later: install it (https://go.dev/dl)")
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f"{program.name}.{os.getpid()}.{threading.get_ident()}")
        words = ["go", *command[:-1], *OPTIONS, "-o", str(partial), command[-1]]
        done = subprocess.run(words, cwd=sources, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        partial.rename(program)
    return program
