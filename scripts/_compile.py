"""Compile the hot modules of the broker with mypyc, for the Python that runs this: the program of scripts/compile.

A module whose first line is the mark `# compiled: mypyc` is compiled; a reason may follow after a comma. A mark that is
misspelt or stands elsewhere is an error. The modules become one library, in which they call each other directly, and a
small file each, by which Python finds them there. The generated C and its objects are in build/mypyc; the result goes
to barnabas/compiled/TAG, where barnabas/form.py finds it: at once, and whole. mypyc names a module by the path through
the links in barnabas/, as Python does, so the links need no care.

The states of the sources are noted before the compiler reads them: a change meanwhile is detected.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "barnabas"
OWN = (
    "barnabas.broker",
    "barnabas.client",
    "barnabas.logfiles",
    "barnabas.protocol",
    "barnabas.registry",
    "barnabas.storage",
)
MARK = re.compile(r"# compiled: mypyc(, \S.*)?")
LIKE_A_MARK = re.compile(r"\A#.*|^#.*\bmypyc\b.*|^# *compil\w* *:.*", re.IGNORECASE | re.MULTILINE)


def main(optimization: str = "2") -> int:
    """Compile, at this level of the C compiler's optimization, if the present modules do not fit the sources."""
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    from barnabas import form

    made = ROOT / "build" / "mypyc" / form.TAG
    made.mkdir(parents=True, exist_ok=True)
    with (made / "lock").open("w") as lock:
        flock(lock, LOCK_EX)  # two at once would write the same files; the second one finds the work done
        target = PACKAGE / "compiled" / form.TAG
        modules = compiled_modules()
        try:
            if form.usable_modules(str(target), str(PACKAGE)) == set(modules):
                return 0
        except form.NotUsable:
            pass  # so it is compiled now
        if missing := what_is_missing():
            print(f"barnabas: cannot compile: {missing}", file=sys.stderr)
            return 1
        watched = sorted(str(path.relative_to(PACKAGE)) for path in sources_of(modules))
        sources = [form.source_line(str(PACKAGE), path, with_time=True) for path in watched]
        print(f"barnabas: compiling {len(modules)} modules for {form.TAG}: a minute or two", file=sys.stderr)
        paths = [str(path_of(module).relative_to(ROOT)) for module in modules]
        _compile(paths, made, form.LIBRARY, optimization)
        manifest = [form.MANIFEST_VERSION, *(f"module {module}" for module in modules), *sources]
        (made / "lib" / form.MANIFEST).write_text("".join(f"{line}\n" for line in manifest), encoding="utf-8")
        _put(made / "lib", target)
    return 0


def _put(whole: Path, target: Path) -> None:
    """Make `target` a copy of `whole`. A broker that starts meanwhile finds the one before, this one or none.

    A broker in the middle of its imports may miss a file, and reports it: start it again.
    """
    fresh, before = target.with_name(f"{target.name}.new"), target.with_name(f"{target.name}.old")
    for left_over in (fresh, before):
        shutil.rmtree(left_over, ignore_errors=True)
    shutil.copytree(whole, fresh)
    if target.exists():
        target.rename(before)
    fresh.rename(target)
    shutil.rmtree(before, ignore_errors=True)


def what_is_missing() -> str:
    """Return the requirement of compiling that this machine lacks; "" where it has all."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler {compiler} (Debian: apt install gcc libc6-dev)"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return f"there is no Python.h in {sysconfig.get_path('include')} (Debian: apt install python3-dev)"
    return ""


def compiled_modules() -> list[str]:
    """Return the dotted names of the modules with a mark, in order. Raise ValueError for a wrong mark."""
    modules = []
    for top in OWN:
        folder = ROOT.joinpath(*top.split(".")).resolve()  # a link, which rglob need not follow
        for path in folder.rglob("*.py"):
            module = ".".join((top, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
            if is_marked(module, path.read_text(encoding="utf-8")):
                modules.append(module)
    return sorted(modules)


def is_marked(module: str, source: str) -> bool:
    """Return whether the first line of `source` is the mark. Raise ValueError for a line that only looks like it."""
    first, _, rest = source.partition("\n")
    marked = MARK.fullmatch(first) is not None
    if wrong := LIKE_A_MARK.search(f"\n{rest}" if marked else source):
        raise ValueError(
            f"{module}: {wrong[0]!r} is a misspelt or misplaced mark: the first line alone is `# compiled: mypyc`"
        )
    return marked


def path_of(module: str) -> Path:
    """Return the file of a module, through the links in barnabas/."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def sources_of(modules: Iterable[str]) -> set[Path]:
    """Return the files of `modules`, and of all of ours that they import, directly or not, for types or to run."""
    found: set[Path] = set()
    unread = [path_of(module) for module in modules]
    while unread:
        path = unread.pop()
        if path not in found:
            found.add(path)
            unread += _imported(path)
    return found


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(OWN):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            yield from (each for each in map(path_of, names) if each.exists())


def _compile(paths: list[str], directory: Path, library: str, optimization: str) -> None:
    """Leave the extension modules of `paths` in `directory`/lib."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    class BuildSideBySide(build_ext):
        """Compiles as many files at a time as there are processors: nearly all of them belong to one extension."""

        def build_extensions(self) -> None:
            compile_in_order = self.compiler.compile

            def compile_side_by_side(sources: list[str], **options: Any) -> list[str]:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    compiled = pool.map(lambda source: compile_in_order([source], **options), sources)
                return [each for objects in compiled for each in objects]

            self.compiler.compile = compile_side_by_side
            super().build_extensions()

    shutil.rmtree(directory / "lib", ignore_errors=True)
    extensions = mypycify(
        paths,
        target_dir=str(directory / "c"),
        group_name=library,
        multi_file=True,
        opt_level=optimization,
        debug_level="0",
    )
    command: Any = BuildSideBySide(Distribution({"name": "barnabas", "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(directory / "lib"), str(directory / "objects")
    command.parallel = os.cpu_count()
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
