"""The same seed is the same run, to the byte, in every process."""

import subprocess
import sys

import pytest

from tests.support.source_tree import ROOT

SEED_OF_MUCH = 5  # deaths, cuts, aborts, transactions left open
SEED_OF_THREADS = 43  # the Spark sink, whose code blocks, and deaths
SEED_OF_SECURITY = 16  # logins, ACLs and quotas, slices cut short, deaths


def trace(seed: int, hash_seed: str) -> bytes:
    command = [sys.executable, "-m", "tests.simulation", "--seed", str(seed)]
    environment = {"PYTHONHASHSEED": hash_seed, "BARNABAS_FORM": "pure"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    ("seed", "event"), [(SEED_OF_MUCH, b"death"), (SEED_OF_THREADS, b" commit q0:"), (SEED_OF_SECURITY, b" login ")]
)
def test_a_seed_prints_the_same_bytes_under_any_hash_seed(seed: int, event: bytes) -> None:
    first = trace(seed, "1")
    assert first.count(event) > 1
    assert trace(seed, "2") == first


def test_other_seeds_print_other_bytes() -> None:
    assert trace(SEED_OF_MUCH, "1") != trace(SEED_OF_MUCH + 1, "1")
