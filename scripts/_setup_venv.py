"""Make a virtual environment hold exactly one lock's packages, once, also when several processes try at a time.

Called by scripts/setup_venv when its quick look finds that something may have changed. Runs on the machine's own Python
with nothing installed. Every package comes with a hash from the lock, the build of the package itself included.

Invariant: the stamp is written last, so an environment with a stamp is whole; the next run finishes a half-made one.
"""

import fcntl
import hashlib
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    for packages in (root / "requirements" / "build.txt", lock):
        _run([*pip, "--require-hashes", "--no-build-isolation", "--requirement", str(packages)])
    _run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(root)])
    compile_packages(python, root, _packages(root))


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


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


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
