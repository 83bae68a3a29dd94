"""Programs of the clients that are written in Go, built once for what their sources and their lock say.

Go fetches the modules that go.mod names, checks them against go.sum, and keeps them for all checkouts.
"""

import hashlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "compat" / "go"
EXAMPLE = ROOT / "examples" / "go"


def build_all() -> None:
    """Have everything that the tests without --long need."""
    go_clients()
    go_transactions()
    group_member()
    under_faults()
    history_writer()
    go_secured()
    franz_go_tests()
    older_sarama()
    go_example()


def go_clients() -> Path:
    """The program that speaks through each of the clients."""
    return _built("clients", "build", ".")


def go_transactions() -> Path:
    """The program that takes the steps of tests/transactions/model.py through each of the clients."""
    return _built("transactions", "build", "./transactions")


def group_member() -> Path:
    """The program that is a member of a group and tells what it sees."""
    return _built("group-member", "build", "./group_member")


def under_faults() -> Path:
    """The program that plays the scenarios of tests/compat/under_faults through franz-go."""
    return _built("under-faults", "build", "./under_faults")


def history_writer() -> Path:
    """The program that has producers and readers of franz-go do what tests/support/histories/remote.py says."""
    return _built("history-writer", "build", "./history_writer")


def go_secured() -> Path:
    """The program that speaks through franz-go or sarama over a secured listener."""
    return _built("secured", "build", "./secured")


def franz_go_tests() -> Path:
    """The tests that franz-go brings along in its module, of which some want a broker."""
    return _built("franz-go.test", "test", "-c", "github.com/twmb/franz-go/pkg/kgo")


def go_example() -> Path:
    """The Go example of docs/testing.md, as a program that runs its tests."""
    return _built("example.test", "test", "-c", ".", sources=EXAMPLE)


def older_sarama() -> Path:
    """The program that writes through a Sarama of before 1.45.1, in a module of its own, as it is another version."""
    return _built("older-sarama", "build", ".", sources=SOURCES / "older_sarama")


def confluent_kafka_go() -> Path:
    """The program that speaks through confluent-kafka-go: librdkafka again, in a module of its own for its size."""
    return _built("librdkafka", "build", ".", sources=SOURCES / "librdkafka")


def _built(name: str, *command: str, sources: Path = SOURCES) -> Path:
    """What `go <command>` builds, if it is not in .cache yet. It is safe to call from several places at once."""
    text = b"".join(path.read_bytes() for path in sorted(sources.rglob("*.*")))
    program = ROOT / ".cache" / "go" / hashlib.sha256(text).hexdigest()[:16] / name
    if not program.exists():
        if shutil.which("go") is None:
            raise RuntimeError("the Go clients are built with Go 1.26 or later: install it (https://go.dev/dl)")
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f"{program.name}.{os.getpid()}.{threading.get_ident()}")
        words = ["go", *command[:-1], "-mod=readonly", "-trimpath", "-o", str(partial), command[-1]]
        done = subprocess.run(words, cwd=sources, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        partial.rename(program)
    return program
