"""Programs of the clients that are written in Rust, built by cargo for what their sources and their locks say.

cargo fetches the crates that Cargo.lock names. That of rdkafka builds librdkafka, too: it takes minutes, once.
"""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "compat" / "rust"
TARGET = ROOT / ".cache" / "rust"


def rdkafka() -> Path:
    """The program that speaks through the crate rdkafka, built again if its sources are newer."""
    return build(SOURCES, "barnabas-compat")


def build(sources: Path, name: str) -> Path:
    """The program `name` of the package in `sources`, built again if its sources are newer."""
    if shutil.which("cargo") is None:
        raise RuntimeError("the Rust clients are built with cargo: install it (https://rustup.rs)")
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", str(TARGET)]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return TARGET / "release" / name
