"""Which form the hot modules run in: pure Python, or the extension modules that scripts/compile made of the same files.

`barnabas/compiled/TAG/` has what was made for one Python: TAG is what it puts behind the names of extension modules, so
that those of another Python are never looked at. The file `manifest` in it lists the compiled modules and every source
that they were made from or import, with its size, time and hash. A finder before Python's own serves the modules.

* The source is the truth. If one file differs from what the manifest says, the pure modules run: all of them, as
  compiled modules rely on each other's classes without looking. So they do if the library cannot be loaded.
* An import never fails because of what was compiled. One line on stderr says why it is not used.
* Where nothing was compiled, a start pays for one look at one path. Otherwise the sources are looked at when the first
  module of the broker is imported, not when pytest imports `barnabas`.

BARNABAS_FORM=pure takes the pure modules without a look. BARNABAS_FORM=compiled is for tests and benchmarks: an
ImportError in place of that line. docs/compiled.md says more. Knows no module of the broker.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from types import ModuleType

PURE, COMPILED = "pure", "compiled"
VARIABLE = "BARNABAS_FORM"
TAG = EXTENSION_SUFFIXES[0].removeprefix(".").partition(".")[0]
LIBRARY = "barnabas_hot"
"""The name of the library with all the code; each module is a small file that begins at its place in there."""
MANIFEST = "manifest"
MANIFEST_VERSION = "barnabas 1"
_NO_TIME = 0  # in a wheel, whose installer gives the files their own times
_PACKAGES = tuple(f"barnabas.{name}" for name in ("broker", "client", "logfiles", "protocol", "registry", "storage"))
_installed: CompiledFinder | None = None


class NotUsable(Exception):
    """The compiled modules cannot be used; the message says why."""


def install(package: str, environment: Mapping[str, str]) -> None:
    """Import the modules of `package`, a directory, in the form that was compiled for this Python, if there is one."""
    global _installed
    wished = environment.get(VARIABLE, "")
    if wished == PURE:
        return
    if wished not in ("", COMPILED):
        raise ImportError(f"{VARIABLE}={wished} is neither {PURE} nor {COMPILED}")
    directory = os.path.join(package, "compiled", TAG)
    if wished == COMPILED or os.path.exists(directory):
        _installed = CompiledFinder(package, directory, is_demanded=wished == COMPILED)
        sys.meta_path.insert(0, _installed)


def running() -> str:
    """Return the form that the hot modules run in."""
    return COMPILED if _installed is not None and _installed.modules() else PURE


class CompiledFinder:
    """Finds compiled modules. Which there are is decided when the first module of the broker is imported."""

    def __init__(self, package: str, directory: str, *, is_demanded: bool = False) -> None:
        self._package = package
        self._directory = directory
        self._is_demanded = is_demanded
        self._modules: frozenset[str] | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module is, or None to leave it to the next finder, as Python's import system wants."""
        if not fullname.startswith(_PACKAGES) or fullname not in self.modules():
            return None
        return _spec(fullname, os.path.join(self._directory, *fullname.split(".")) + EXTENSION_SUFFIXES[0])

    def modules(self) -> frozenset[str]:
        """Return the compiled modules; none if they cannot be used, or ImportError if they were demanded."""
        if self._modules is None:
            try:
                self._modules = usable_modules(self._directory, self._package)
            except NotUsable as reason:
                if self._is_demanded:  # tried again by the next import, so that no program continues with pure ones
                    raise ImportError(f"{VARIABLE}={COMPILED}, but {reason}: run scripts/compile") from reason
                self._modules = frozenset()
                sys.stderr.write(
                    f"barnabas: running the pure modules: {reason}. To compile them again: scripts/compile\n"
                )
        return self._modules


def usable_modules(directory: str, package: str) -> frozenset[str]:
    """Load the library and return the compiled modules. Raise NotUsable if they cannot be used."""
    try:
        with open(os.path.join(directory, MANIFEST), encoding="utf-8") as file:
            version, *lines = file.read().splitlines()
    except (OSError, ValueError) as error:
        raise NotUsable(f"there is no manifest in {directory}") from error
    if version != MANIFEST_VERSION:
        raise NotUsable(f"the manifest in {directory} has another version")
    modules = [line.partition(" ")[2] for line in lines if line.startswith("module ")]
    for line in lines:
        if line.startswith("source "):
            try:
                size, time_ns, expected, path = line.split(" ", 4)[1:]
                _check_source(package, path, int(size), int(time_ns), expected)
            except ValueError as error:
                raise NotUsable(f"the manifest in {directory} is damaged") from error
    _load_library(directory)
    return frozenset(modules)


def source_line(package: str, path: str, *, with_time: bool) -> str:
    """Return the line of a manifest about the source `path`, relative to the directory `package`."""
    status = os.stat(os.path.join(package, path))
    time_ns = status.st_mtime_ns if with_time else _NO_TIME
    return f"source {status.st_size} {time_ns} {_hash(package, path)} {path}"


def _check_source(package: str, path: str, size: int, time_ns: int, expected: str) -> None:
    try:
        status = os.stat(os.path.join(package, path))
        if status.st_size == size and (status.st_mtime_ns == time_ns or _hash(package, path) == expected):
            return
    except OSError as error:
        raise NotUsable(f"{path} is missing, a source of the compiled modules") from error
    raise NotUsable(f"{path} has changed since the modules were compiled")


def _hash(package: str, path: str) -> str:
    """Return the hash by which Python compares bytecode with its source: fast, and no protection against forgery."""
    from importlib.util import source_hash

    with open(os.path.join(package, path), "rb") as file:
        return source_hash(file.read()).hex()


def _load_library(directory: str) -> None:
    from importlib.util import module_from_spec

    name = f"{LIBRARY}__mypyc"
    if name in sys.modules:
        return
    spec = _spec(name, os.path.join(directory, name + EXTENSION_SUFFIXES[0]))
    try:
        library = module_from_spec(spec)
        sys.modules[name] = library
        if spec.loader is not None:
            spec.loader.exec_module(library)
    except ImportError as error:
        sys.modules.pop(name, None)
        raise NotUsable(f"the library in {directory} cannot be loaded ({error})") from error


def _spec(name: str, file: str) -> ModuleSpec:
    spec = ModuleSpec(name, ExtensionFileLoader(name, file), origin=file)
    spec.has_location = True
    return spec
