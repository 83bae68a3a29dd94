"""The program of the client that is written in Rust, built by cargo for what its sources and its lock say.

cargo fetches the crates that Cargo.lock names, and builds librdkafka among them: that takes minutes, once.
"""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "compat" / "rust"
TARGET = ROOT / ".cache" / "rust"


def rdkafka() -> Path:
    """The program, built again if its sources are newer."""
    if shutil.which("cargo") is None:
        raise RuntimeError("the Rust client is built with cargo: install it (https://rustup.rs)")
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", str(TARGET)]
    done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return TARGET / "release" / "barnabas-compat"
