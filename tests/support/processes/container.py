"""The image, built and run without Docker: buildah in a chroot, on a Debian base that mmdebstrap makes.

A container here has its own files, its own network (a namespace with nothing but a loopback, so that the ports are
those of the image alone) and the environment it is given; it has no limits and no init of its own, and
what is in it runs under the image's user. docs/container.md names Docker's part that is not here.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.processes.server import ROOT, Lines
from tests.support.waiting import PATIENCE_S

PLACE = ROOT / ".cache" / "container"
BASE, IMAGE = "localhost/barnabas-base", "localhost/barnabas"
SUITE = "trixie"  # the Debian whose Python is 3.13
CERTIFICATES = Path("/etc/ssl/certs")

_LOOPBACK_UP = """
import fcntl, socket, struct, sys
with socket.socket() as probe:
    flags = fcntl.ioctl(probe, 0x8913, struct.pack("16sh", b"lo", 0))
    fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", struct.unpack("16sh", flags)[1] | 1))
print("up", flush=True)
sys.stdin.read()
"""


_READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


class BuildFailed(Exception):
    """A step of building failed; the message has the end of its output."""


def buildah(*arguments: str) -> list[str]:
    """The command line of buildah over images of our own, beside whatever else the machine has."""
    return _buildah(_storage_driver(), *arguments)


def _buildah(driver: str, *arguments: str) -> list[str]:
    place = ["--root", str(PLACE / driver), "--runroot", str(PLACE / "run")]
    return ["buildah", "--storage-driver", driver, *place, *arguments]


@cache
def _storage_driver() -> str:
    """`overlay`, which copies nothing, where the kernel lets us; else `vfs`, which copies everything each time."""
    for words in (["from", "--name", "probe", "scratch"], ["mount", "probe"], ["rm", "probe"]):
        done = subprocess.run(_buildah("overlay", *words), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            return "vfs"
    return "overlay"


def output(*arguments: str, timeout_s: float = PATIENCE_S) -> str:
    """What buildah printed. BuildFailed."""
    return _checked(buildah(*arguments), timeout_s).strip()


def _checked(command: Sequence[str], timeout_s: float) -> str:
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    if done.returncode != 0:
        output = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise BuildFailed(f"{' '.join(command)} ended with {done.returncode}:\n{output}")
    return done.stdout


def make_base() -> None:
    """Have an image of Debian with Python in our store, made again when it is missing. BuildFailed."""
    PLACE.mkdir(parents=True, exist_ok=True)
    archive = PLACE / f"{SUITE}.tar"
    if not archive.exists():
        unfinished = archive.with_suffix(".part.tar")
        included = "--include=python3,python3-venv"
        _checked(["mmdebstrap", "--quiet", "--variant=minbase", included, SUITE, str(unfinished)], PATIENCE_S)
        unfinished.rename(archive)
    if BASE not in output("images", "--format", "{{.Name}}").splitlines():
        context = PLACE / "base"
        context.mkdir(exist_ok=True)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        (context / "Dockerfile").write_text(f"FROM scratch\nADD base.tar /\nENV PATH={path}\n")
        shutil.copyfile(archive, context / "base.tar")
        output("bud", "--quiet", "--isolation", "chroot", "--tag", BASE, str(context), timeout_s=PATIENCE_S)


def build_image() -> None:
    """Build the Dockerfile on that base, without the C compiler's optimizations: they take a minute. BuildFailed."""
    trusted = ["--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"] if CERTIFICATES.is_dir() else []
    options = ["--quiet", "--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={BASE}", *trusted]
    options += ["--build-arg", "OPTIMIZATION=0"]
    options += ["--layers"] if _storage_driver() == "overlay" else []  # unchanged layers stay from the last time
    output("bud", *options, "--tag", IMAGE, ".", timeout_s=PATIENCE_S)


def image_config() -> dict[str, Any]:
    """The image's configuration, as Docker stores it: Cmd, User, Env, Healthcheck and others."""
    inspected: dict[str, Any] = json.loads(output("inspect", "--type", "image", IMAGE))
    config: dict[str, Any] = inspected["Docker"]["config"]
    return config


class Network:
    """A separate network. Processes enter it by `command`."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-c", _LOOPBACK_UP], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"up\n"

    def command(self, words: Sequence[str]) -> list[str]:
        """`words`, to be run in this network."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "--", *words]

    def close(self) -> None:
        self._holder.communicate()


class Container:
    """A container of the image. Removed by `close`."""

    def __init__(self, hostname: str = "broker") -> None:
        self.network = Network()
        self._name = output("from", "--add-host", f"{hostname}:127.0.0.1", IMAGE)
        self._hostname = hostname
        self.root = Path(output("mount", self._name))
        self._processes: list[subprocess.Popen[str]] = []
        self._memory: tuple[str, ...] | None = None

    def make_read_only(self, *writable: str) -> None:
        """Let what is started from now on see the files read-only, but for memory mounted on these directories."""
        self.run("true")  # with what buildah writes into the files
        (self.root / "run/.containerenv").touch()
        self._memory = writable

    def command(self, words: Sequence[str], environment: Mapping[str, str] | None = None) -> list[str]:
        """The command line that runs `words` in the container, with variables beside those of the image."""
        variables = [word for name, value in (environment or {}).items() for word in ("--env", f"{name}={value}")]
        where = ["--isolation", "chroot", "--hostname", self._hostname]
        for directory in self._memory or ():
            where += ["--mount", f"type=tmpfs,destination={directory},tmpfs-mode=1777"]
        command = buildah("run", *where, *variables, self._name, "--", *words)
        if self._memory is not None:
            command = ["unshare", "--mount", "sh", "-c", _READ_ONLY, "sh", str(self.root), *command]
        return self.network.command(command)

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run `words` to their end."""
        command = self.command(words, environment)
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    def start(self, *words: str, environment: Mapping[str, str] | None = None) -> Running:
        """Start `words`, as the container's first process."""
        process = subprocess.Popen(
            self.command(words, environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._processes.append(process)
        return Running(process, self.root)

    def ask_from_outside(self, *words: str) -> str:
        """Run Python with `words` on the machine, as a client of the container's ports; what it printed."""
        return _checked(self.network.command([sys.executable, *words]), PATIENCE_S)

    def close(self) -> None:
        for process in self._processes:
            for pid in _inside(self.root):
                os.kill(pid, signal.SIGKILL)
            try:
                process.wait(PATIENCE_S)
            finally:
                process.kill()
        output("rm", self._name)
        self.network.close()


class Running:
    """A process that was started in a container, with what it prints."""

    def __init__(self, process: subprocess.Popen[str], root: Path) -> None:
        assert process.stdout is not None
        self._process = process
        self._root = root
        self.lines = Lines(process.stdout)

    def signal(self, number: signal.Signals) -> int:
        """Send it to what runs in the container; the exit status."""
        for pid in _inside(self._root):
            os.kill(pid, number)
        return self._process.wait(PATIENCE_S)


def _inside(root: Path) -> Iterator[int]:
    """The processes whose root directory is the container's, under whichever name it is mounted for them.

    All but buildah's own, which waits there for what it has started.
    """
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):  # ended meanwhile
                if (entry / "root").samefile(root) and "buildah" not in (entry / "cmdline").read_text():
                    yield int(entry.name)


@contextmanager
def container() -> Iterator[Container]:
    """A fresh container."""
    made = Container()
    try:
        yield made
    finally:
        made.close()
