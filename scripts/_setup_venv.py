"""Make a virtual environment hold exactly one lock's packages, once, also when several processes try at a time.

Called by scripts/setup_venv when its quick look finds that something may have changed. Runs on the machine's own Python
with nothing installed. Every package comes with a hash from the lock, the build of the package itself included. uv
installs them where a lock has brought it, with what pip is configured for; pip installs uv, and what comes before it.

Invariant: the stamp is written last, so an environment with a stamp is whole; the next run finishes a half-made one.
"""

import ast
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

UV_IN_A_LOCK = re.compile(r"^uv==.*(?:\n    --hash=.*)+", re.MULTILINE)
UV_OPTIONS = {  # by pip's name of them
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
UV_VARIABLES = {"cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY", "default-timeout": "UV_HTTP_TIMEOUT"}
PIP_SECTIONS = ("global", "install", ":env:")  # a later one wins, as with pip


def main(root: Path, directory: Path, lock_name: str) -> int:
    lock = root / "requirements" / f"{lock_name}.txt"
    stamp = directory / f".ready-{lock_name}"
    wanted = f"{root}\n{_fingerprint(root, lock)}\n"
    if directory.is_symlink():  # it leads to an environment of another checkout, which would be emptied
        print(f"barnabas: {directory} is a symbolic link; remove it, and the next run makes its own", file=sys.stderr)
        return 1
    with _only_one(root / ".cache" / f"{directory.name}.lock"):
        if stamp.exists() and stamp.read_text() == wanted:
            stamp.touch()  # the files are newer but have the same content
            return 0
        try:
            _install(root, directory, lock)
        except subprocess.CalledProcessError as failure:
            print(f"barnabas: setting up {directory} failed: {failure}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("barnabas: interrupted; the next run continues from here", file=sys.stderr)
            return 130
        stamp.write_text(wanted)
    return 0


def _fingerprint(root: Path, lock: Path) -> str:
    """Return a hash of the environment's inputs: the lock, and the parts of pyproject.toml for an installation."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    installed = [pyproject["build-system"], pyproject["project"], pyproject["tool"]["hatch"]]
    build_lock = root / "requirements" / "build.txt"
    return hashlib.sha256(lock.read_bytes() + build_lock.read_bytes() + repr(installed).encode()).hexdigest()


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Hold the lock file `path`: a second process waits, then finds the work done."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as lock_file:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("barnabas: waiting for another set-up of the same environment", file=sys.stderr)
            fcntl.flock(lock_file, fcntl.LOCK_EX)
        yield


def _install(root: Path, directory: Path, lock: Path) -> None:
    print(f"barnabas: setting up {directory.name} from requirements/{lock.name} (once)", file=sys.stderr)
    python = directory / "bin" / "python"
    if not _belongs_here(directory):
        venv.create(directory, clear=True, with_pip=True)
    install, environment = _installer(root, directory, lock)
    for packages in (root / "requirements" / "build.txt", lock):
        requirements = ["--require-hashes", "--no-build-isolation", "--requirement", str(packages)]
        _run([*install, *requirements], environment)
    _run([*install, "--no-deps", "--no-build-isolation", "--editable", str(root)], environment)
    compile_packages(python, root, _packages(root))


def _installer(root: Path, directory: Path, lock: Path) -> tuple[list[str], dict[str, str]]:
    """Return the start of a command that installs into `directory`, and variables for it: of uv, or else of pip.

    A lock with uv in it installs that first. Other environments of the checkout use the uv of .venv.
    """
    python = str(directory / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    uv = root / ".venv" / "bin" / "uv"
    if own := UV_IN_A_LOCK.search(lock.read_text()):
        uv = directory / "bin" / "uv"
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as alone:
            alone.write(f"{own[0]}\n")
            alone.flush()
            _run([*pip, "--require-hashes", "--requirement", alone.name])
    if not uv.exists():
        return pip, {}
    listed = subprocess.run(
        [python, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    options, variables = as_for_pip(listed.stdout)
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):  # else Python compiles what is imported
        options.append("--compile-bytecode")
    return [str(uv), "pip", "install", "--quiet", "--no-config", "--python", python, *options], variables


def as_for_pip(listed: str) -> tuple[list[str], dict[str, str]]:
    """Return uv's options and variables for the indexes that `pip config list` printed: uv reads nothing of pip's."""
    found = {}
    for section in PIP_SECTIONS:
        for line in listed.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(f"{section}."):
                found[key.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    options = ["--index-strategy", "unsafe-best-match"]  # pip's: all indexes are equal, and the hash decides
    for name, option in UV_OPTIONS.items():
        options += [f"{option}={value}" for value in found.get(name, "").split()]
    return options, {variable: found[name] for name, variable in UV_VARIABLES.items() if name in found}


def compile_packages(python: Path, root: Path, packages: list[str]) -> None:
    """Leave bytecode beside our own sources, as pip does for other packages.

    Python would write it at the first start, but not where PYTHONDONTWRITEBYTECODE is set, as it is in many images and
    on many CI machines: every start would compile all of it again, which doubles the time until the broker listens.
    """
    _run([str(python), "-m", "compileall", "-q", *(str(root / package) for package in packages)])


def _packages(root: Path) -> list[str]:
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    packages: list[str] = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    inside = [path for package in packages for path in sorted((root / package).iterdir())]
    linked = [str(path.relative_to(root)) for path in inside if path.is_symlink()]  # compileall follows none
    return [*packages, *linked, "pyspark_barnabas"]  # it has its own distribution, and is run from here


def _run(command: list[str], variables: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, env={**os.environ, **(variables or {})})


def _belongs_here(directory: Path) -> bool:
    """Return whether `directory` is an environment that was made at this place and still runs."""
    python = directory / "bin" / "python"
    if not python.exists():
        return False
    answer = subprocess.run(
        [str(python), "-c", "import pip, sys; print(sys.prefix)"], capture_output=True, text=True, check=False
    )
    pip_program = directory / "bin" / "pip"
    return (
        answer.returncode == 0
        and answer.stdout.strip() == str(directory)
        and pip_program.exists()
        and str(directory) in pip_program.read_text().splitlines()[0]
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
