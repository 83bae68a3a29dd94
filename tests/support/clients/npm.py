"""The packages of the clients that are written in JavaScript: what each lock says, in the node_modules beside it."""

import os
import subprocess
from pathlib import Path

JS = Path(__file__).resolve().parents[2] / "compat" / "js"


def install_clients() -> None:
    """Have everything that the tests without --long need."""
    for home in (JS, JS / "platformatic", JS / "serializers"):
        install(home)


def install(home: Path, **variables: str) -> None:
    """Have in node_modules what the lock in `home` says, and only install where npm has not noted that it did.

    `variables`: those of the environment that the packages' own install scripts read.
    """
    lock, installed = home / "package-lock.json", home / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime > lock.stat().st_mtime:
        return
    command = ["npm", "ci", "--silent", "--no-audit", "--no-fund"]
    environment = os.environ | variables
    done = subprocess.run(
        command, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed in {home}:\n{done.stdout}{done.stderr}")


def node_of(home: Path) -> str:
    """The Node.js that the packages in `home` run on: their own, if the lock brings one, or else the machine's."""
    install(home)
    own = home / "node_modules" / ".bin" / "node"
    return str(own) if own.exists() else "node"
