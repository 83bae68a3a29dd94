"""Places in the product's source by qualified name and statement: in whatever file, and however it is written there.

Trees of syntax are compared and changed, so formatting, comments and the statements around a place do not matter.
"""

import ast
import difflib
import functools
import glob
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

_PACKAGES = ("barnabas", "pyspark_barnabas")


class Source(NamedTuple):
    """A module that may not have been imported."""

    name: str
    path: Path
    text: str


class Place(NamedTuple):
    """Where an expression is, or a run of statements: of what `owner` has in `field`, from `at` on."""

    source: Source
    owner: ast.AST
    field: str
    at: int

    def pieces(self) -> list[ast.AST]:
        return _listed(getattr(self.owner, self.field))

    def put(self, old: list[ast.AST], new: list[ast.AST]) -> None:
        pieces = self.pieces()
        here = pieces[self.at]
        for each in (each for piece in new for each in ast.walk(piece)):
            ast.copy_location(each, here)
        for each in new:
            if _has_any_body(each) and isinstance(here, ast.If):
                each.body = here.body
        pieces[self.at : self.at + len(old)] = new
        if self.field == "body" and not pieces:
            pieces.append(ast.copy_location(ast.Pass(), here))
        if not isinstance(getattr(self.owner, self.field), list):
            setattr(self.owner, self.field, *pieces)

    def __str__(self) -> str:
        return f"{self.source.path}:{getattr(self.pieces()[self.at], 'lineno', '')}"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one place: `old`, an expression or statements, becomes `new`, or goes where there is none.

    `if this: ...` is one with any body; in `if that: ...` it stays.
    """

    anchor: str
    """The qualified name of what has it; `log.read:Reader.read` in modules so named only, where several have it."""
    old: str
    new: str = ""

    @property
    def qualified_name(self) -> str:
        return self.anchor.rpartition(":")[2]

    def pieces(self) -> tuple[list[ast.AST], list[ast.AST]]:
        """What is looked for, and what it becomes."""
        match ast.parse(self.old).body, ast.parse(self.new).body:
            case [ast.Expr(old)], [ast.Expr(new)]:
                return [old], [new]
            case old_body, new_body:
                return [*old_body], [*new_body]

    def places(self, source: Source, tree: ast.AST) -> Iterator[Place]:
        module = self.anchor.rpartition(":")[0]
        if f".{source.name}".endswith(module and f".{module}"):
            for name, node in _definitions(tree):
                if name == self.qualified_name:
                    yield from _places(source, node, self.pieces()[0])

    def words(self) -> set[str]:
        """What a module has in its text that it fits: those that do not are not parsed."""
        nodes = list(ast.walk(ast.parse(self.old)))
        names = {each.id for each in nodes if isinstance(each, ast.Name)}
        return (
            names | {each.attr for each in nodes if isinstance(each, ast.Attribute)} | {*self.qualified_name.split(".")}
        )


def changed(edits: Iterable[Edit], product: Iterable[Source]) -> dict[Source, ast.Module]:
    """The modules that the edits change. LookupError if one of them has no place, or several."""
    trees: dict[Source, ast.Module] = {}
    for edit in edits:
        words = edit.words()
        candidates = (source for source in product if all(word in source.text for word in words))
        parsed = {source: trees.get(source) or ast.parse(source.text) for source in candidates}
        places = [place for source, tree in parsed.items() for place in edit.places(source, tree)]
        if len(places) != 1:
            raise LookupError(_misfit(edit, places, product))
        [place] = places
        place.put(*edit.pieces())
        trees[place.source] = parsed[place.source]
    return trees


@functools.cache
def product() -> tuple[Source, ...]:
    """What bugs are planted in, read once in a process that plants one."""
    found = map(importlib.util.find_spec, _PACKAGES)
    folders = (folder for spec in found if spec for folder in spec.submodule_search_locations or ())
    return tuple(source for folder in folders for source in sources(Path(folder)))


def sources(package: Path) -> Iterator[Source]:
    """The modules in the folder of a package, and behind the links in it."""
    for file in sorted(glob.glob("**/*.py", root_dir=package, recursive=True)):
        name = ".".join((package.name, *Path(file).with_suffix("").parts)).removesuffix(".__init__")
        yield Source(name, package / file, (package / file).read_text())


def _definitions(parent: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Classes, functions and variables by qualified name; what a function defines is a part of it."""
    for each in ast.iter_child_nodes(parent):
        match each:
            case ast.ClassDef(name):
                yield prefix + name, each
                yield from _definitions(each, f"{prefix}{name}.")
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                yield prefix + name, each
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
                yield prefix + name, each
            case ast.stmt():
                yield from _definitions(each, prefix)


def _places(source: Source, within: ast.AST, wanted: list[ast.AST]) -> Iterator[Place]:
    for owner in ast.walk(within):
        for field in owner._fields:
            pieces = _listed(getattr(owner, field))
            for at in range(len(pieces) - len(wanted) + 1):
                if all(map(_is_like, wanted, pieces[at:])):
                    yield Place(source, owner, field, at)


def _is_like(wanted: ast.AST, there: ast.AST) -> bool:
    if type(wanted) is not type(there):
        return False
    if _has_any_body(wanted) and isinstance(there, ast.If):
        there = ast.If(there.test, wanted.body, there.orelse)
    return ast.dump(wanted) == ast.dump(there)


def _has_any_body(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and ast.unparse(node.body[0]) == "..."


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _misfit(edit: Edit, places: list[Place], product: Iterable[Source]) -> str:
    """Why it has no place. What it is called now, if it was renamed, is among the names."""
    code = f"{edit.anchor}, {edit.old!r}"
    if places:
        return f"{code} is there {len(places)} times: {', '.join(map(str, places))}"
    found = [(source, name, node) for source in product for name, node in _definitions(ast.parse(source.text))]
    near = difflib.get_close_matches(edit.qualified_name, {name for _, name, _ in found}, cutoff=0.5)
    alike = [f"{source.name}:{name}" for source, name, _ in found if name in near]
    wanted, _ = edit.pieces()
    having = [
        f"{source.name}:{name}"
        for source, name, node in found
        if not isinstance(node, ast.ClassDef) and any(_places(source, node, wanted))
    ]
    return f"{code} is not there; names like it: {', '.join(alike)}; such code is in: {', '.join(having)}"
