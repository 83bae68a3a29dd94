"""The same seed is the same run, to the byte, in every process."""

import subprocess
import sys

from tests.support.source_tree import ROOT

SEED_OF_MUCH = 5  # deaths, cuts, aborts, transactions left open
SEED_OF_THREADS = 43  # the Spark sink, whose code blocks, and deaths
SEED_OF_SECURITY = 16  # logins, ACLs and quotas, slices cut short, deaths


def trace(seed: int, hash_seed: str) -> bytes:
    command = [sys.executable, "-m", "tests.simulation", "--seed", str(seed)]
    environment = {"PYTHONHASHSEED": hash_seed, "BARNABAS_FORM": "pure"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout


def test_a_seed_prints_the_same_bytes_under_any_hash_seed() -> None:
    first = trace(SEED_OF_MUCH, "1")
    assert first.count(b"death") > 1
    assert trace(SEED_OF_MUCH, "2") == first


def test_threads_take_turns_as_the_seed_says() -> None:
    first = trace(SEED_OF_THREADS, "1")
    assert first.count(b" commit q0:") > 1
    assert trace(SEED_OF_THREADS, "2") == first


def test_security_prints_the_same_bytes_under_any_hash_seed() -> None:
    first = trace(SEED_OF_SECURITY, "1")
    assert first.count(b" login ") > 1
    assert trace(SEED_OF_SECURITY, "2") == first


def test_other_seeds_print_other_bytes() -> None:
    assert trace(SEED_OF_MUCH, "1") != trace(SEED_OF_MUCH + 1, "1")
