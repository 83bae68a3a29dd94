"""Archives of the classes in directories of jars, made once: a JVM that has one starts in half the processor time.

A JVM takes an archive that its class path begins with (JDK 13 and later), and starts as without where it may not.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.support.waiting import PATIENCE_S

SILENT = "-Xlog:disable"
"""A JVM warns on stdout of what it cannot archive, and of an archive that it does not take."""
_CACHE = Path(__file__).resolve().parents[3] / ".cache" / "java"
_SOURCE = Path(__file__).with_name("LoadClasses.java")
_LOADER = _CACHE / "load-classes.jar"  # on the class path of programs that use an archive, as when it was made
_NEEDED = ("connect", "jackson", "kafka", "log4j", "metrics", "scala", "slf4j")
"""How the names of the jars begin whose classes most programs load."""


def class_path(libs: Path, *more: object) -> str:
    """Of the jars in a directory, and of what comes behind them."""
    return ":".join([f"{libs}/*", str(_LOADER), *map(str, more)])


def archive_options(libs: Path) -> tuple[str, ...]:
    """The JVM's options for the archive of a directory of jars, if it was made."""
    path = _path(libs)
    return (f"-XX:SharedArchiveFile={path}", SILENT) if path.exists() else ()


def archive_jars(libs: Path, *options: str) -> None:
    """Make the archive of a directory of jars, unless it is there, by a JVM with these options."""
    jars = [str(path) for path in sorted(libs.glob("*.jar")) if path.name.startswith(_NEEDED)]
    _build_loader()

    def load(recording: tuple[str, ...]) -> None:
        command = ["java", *options, *recording, "-cp", class_path(libs), _SOURCE.stem, *jars]
        subprocess.run(command, check=True, timeout=PATIENCE_S)

    archive(libs, load)


def archive(libs: Path, load: Callable[[tuple[str, ...]], object]) -> None:
    """Make the archive unless it is there; `load` has a JVM with these options load the classes, and end."""
    path = _path(libs)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            load((f"-XX:ArchiveClassesAtExit={partial}", SILENT))
            partial.rename(path)


def _path(libs: Path) -> Path:
    java = os.path.realpath(shutil.which("java") or "java")
    _CACHE.mkdir(parents=True, exist_ok=True)
    return _CACHE / f"{hashlib.sha256(f'{java} {libs}'.encode()).hexdigest()[:16]}.jsa"


def _build_loader() -> None:
    if _LOADER.exists():
        return
    _CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_CACHE) as classes:
        subprocess.run(["javac", "-d", classes, str(_SOURCE)], check=True, timeout=PATIENCE_S)
        partial = Path(classes) / "jar"
        with zipfile.ZipFile(partial, "w") as jar:
            jar.write(Path(classes) / f"{_SOURCE.stem}.class", f"{_SOURCE.stem}.class")
        partial.rename(_LOADER)
