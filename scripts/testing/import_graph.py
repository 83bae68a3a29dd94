"""The imports between files of the repository, read from their text, without importing anything.

Files are named by their place without links: `barnabas.broker.runtime.replies` and `broker/runtime/replies.py` are one.
An import inside a function counts, and so does one by `import_module`, of all of a package where the name is computed
at run time. An import of a package leads to its `__init__.py`, and that of a name out of a module to the module.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping

LINKED = "barnabas"  # the package whose links lead to the top folders: decision 0098
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)|import[ \t]+([^\n]+))", re.MULTILINE
)
_BY_NAME = re.compile(r"""["'](barnabas(?:\.\w+)+)(\.\{)?""")  # for import_module, perhaps of any module of a package
_COMMENT = re.compile(r"#[^\n]*")


class ImportGraph:
    """The imports between the Python files whose texts were given."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._files = texts.keys()
        self._in_folder: dict[str, list[str]] = {}
        for path in texts:
            self._in_folder.setdefault(path.rpartition("/")[0], []).append(path)
        self.importers: dict[str, set[str]] = {}
        for path, text in texts.items():
            for imported in self._imported(path, text):
                self.importers.setdefault(imported, set()).add(path)

    def distances(self, path: str) -> dict[str, int]:
        """Return how many imports lie between `path` and each file that reaches it; 0 for itself.

        A file that is gone still has those importers that name it.
        """
        distances, waiting = {path: 0}, deque([path])
        while waiting:
            here = waiting.popleft()
            for importer in self.importers.get(here, ()):
                if importer not in distances:
                    distances[importer] = distances[here] + 1
                    waiting.append(importer)
        return distances

    def _imported(self, path: str, text: str) -> Iterable[str]:
        for module, names, modules in _IMPORT.findall(text):
            if module:
                base = self._absolute(path, module)
                yield from self._places(base)
                for name in _COMMENT.sub("", names).strip("() \n").split(","):
                    yield from self._places(f"{base}.{name.split(' as ')[0].strip()}")
            else:
                for each in _COMMENT.sub("", modules).split(","):
                    yield from self._places(each.split(" as ")[0].strip())

        for name, is_any in _BY_NAME.findall(text) if not path.startswith("tests/") else ():
            folder = name.partition(".")[2].replace(".", "/")
            yield from self._in_folder.get(folder, ()) if is_any else self._places(name)

    @staticmethod
    def _absolute(path: str, module: str) -> str:
        """Return the full name of a module that is imported by `path`, whose leading dots stand for its own folder."""
        name = module.lstrip(".")
        dots = len(module) - len(name)
        if not dots:
            return name
        folder = path.split("/")[:-dots]
        return ".".join((*folder, name) if name else folder)

    def _places(self, name: str) -> Iterable[str]:
        """Yield the file of a dotted name: also a missing one, where its folder exists."""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            return
        place = "/".join(parts)
        yield from (each for each in (f"{place}.py", f"{place}/__init__.py") if each in self._files)
        if parts[0] == LINKED and len(parts) > 1:
            yield from self._places(".".join(parts[1:]))
        elif f"{place}.py" not in self._files:
            yield f"{place}.py"  # gone, or a name in a module, which is no file's path
