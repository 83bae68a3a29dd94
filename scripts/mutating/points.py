"""The places where a source can be changed by a small mistake, and the changed source: on the syntax tree, in memory.

A point is a place and a mistake: a comparison replaced by its neighbour, a constant that is one too large, a statement
left out. Code that no test needs to notice has no points: annotations, docstrings, log lines, texts, messages of
assertions, decorators, bases, `__slots__`, `__all__`, and code for the type checker only.

Invariant: the points of a source depend on nothing but its text, and the name of a point finds it again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_UNREAD_FIELDS = {"annotation", "returns", "decorator_list", "keywords", "bases", "msg", "type_params"}
_UNREAD_NAMES = {"__slots__", "__all__", "_log", "TYPE_CHECKING"}


@dataclass(frozen=True)
class Reach:
    """The sign that a test reaches a point: it runs one of `lines`, or depends on `names`, as an import does."""

    lines: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Point:
    """One mistake at one place of a file."""

    line: int
    column: int
    mistake: str
    reach: Reach = field(compare=False)
    old: ast.AST = field(compare=False, repr=False)
    new: ast.AST = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The unique name of the point in its file."""
        last_line, last_column = getattr(self.old, "end_lineno", 0), getattr(self.old, "end_col_offset", 0)
        last = f"{last_column}" if last_line == self.line else f"{last_line}:{last_column}"
        return f"{self.line}:{self.column}-{last} {self.mistake}"


def points(source: str) -> list[Point]:
    """Return all points of a source, in the order of its text."""
    return _of_tree(ast.parse(source))


def mutated(source: str, name: str) -> ast.Module:
    """Return the syntax tree with the mistake at the point `name`. Raises KeyError if there is no such point."""
    tree = ast.parse(source)
    point = {each.name: each for each in _of_tree(tree)}[name]
    changed = _Replacement(point).visit(tree)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


class _Replacement(ast.NodeTransformer):
    def __init__(self, point: Point) -> None:
        self._point = point

    def visit(self, node: ast.AST) -> Any:
        if node is self._point.old:
            return ast.copy_location(self._point.new, node)
        return self.generic_visit(node)


def _of_tree(tree: ast.Module) -> list[Point]:
    found = _of_statements(tree.body, Reach(), is_import=True)
    return sorted(found, key=lambda point: (point.line, point.column, point.mistake))


def _of_statements(body: list[ast.stmt], around: Reach, *, is_import: bool) -> Iterator[Point]:
    """Yield the points of statements. `is_import`: whether they run at the import, not when a function is called."""
    for statement in body:
        if _is_unread(statement):
            continue
        if isinstance(statement, _FUNCTIONS):
            called = Reach(_first_lines(statement.body))
            for default in (*statement.args.defaults, *statement.args.kw_defaults):
                yield from _of_expression(default, called, "default ")
            yield from _of_statements(statement.body, called, is_import=False)
            continue
        reach = Reach(names=_names_of(statement, around.names)) if is_import else Reach(_header(statement))
        yield from _of_whole(statement, reach)
        if isinstance(statement, ast.If | ast.While):
            yield from _negated(statement.test, reach)
        for node in _parts(statement):
            if isinstance(node, ast.stmt):
                yield from _of_statements([node], reach, is_import=is_import)
            elif isinstance(node, ast.ExceptHandler | ast.match_case):
                yield from _of_statements(node.body, reach, is_import=is_import)
            else:
                yield from _of_expression(node, reach)


def _of_whole(statement: ast.stmt, reach: Reach) -> Iterator[Point]:
    """Yield the mistakes that leave a statement out, or put another one in its place."""
    changes: list[tuple[str, ast.stmt]] = []
    match statement:
        case ast.Break():
            changes.append(("break becomes continue", ast.Continue()))
        case ast.Continue():
            changes.append(("continue becomes break", ast.Break()))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            changes.append(("returns None", ast.Return(ast.Constant(None))))
        case ast.AugAssign(target, operator, value) if type(operator) in _ARITHMETIC:
            other = _ARITHMETIC[type(operator)]
            name = f"{type(operator).__name__}= becomes {other.__name__}="
            changes.append((name, ast.AugAssign(target, other(), value)))
    match statement:
        case (
            ast.Expr(value=ast.Call() | ast.Await())
            | ast.Raise()
            | ast.Delete()
            | ast.AugAssign()
            | ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_])
        ):
            changes.append(("left out", ast.Pass()))
    for mistake, new in changes:
        yield Point(statement.lineno, statement.col_offset, mistake, reach, statement, new)


def _of_expression(node: ast.AST | None, reach: Reach, prefix: str = "") -> Iterator[Point]:
    if node is None or isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.expr):
        for mistake, new in _changes(node):
            if not (reach.names and mistake.startswith("BitOr")):  # of types, in an alias
                yield Point(node.lineno, node.col_offset, prefix + mistake, reach, node, new)
    conditions = [node.test] if isinstance(node, ast.IfExp) else getattr(node, "ifs", [])
    for condition in conditions:
        yield from _negated(condition, reach)
    for child in ast.iter_child_nodes(node):
        yield from _of_expression(child, reach, prefix)


def _negated(condition: ast.expr, reach: Reach) -> Iterator[Point]:
    """Yield the mistake that negates a condition; a comparison, or a `not`, has such a mistake already."""
    is_own = isinstance(condition, ast.Compare) or (
        isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not)
    )
    if not is_own:
        yield Point(
            condition.lineno, condition.col_offset, "negated", reach, condition, ast.UnaryOp(ast.Not(), condition)
        )


def _changes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare(left, operators, comparators):
            for at, operator in enumerate(operators):
                for other in _COMPARISONS[type(operator)]:
                    new = ast.Compare(left, [*operators[:at], other(), *operators[at + 1 :]], comparators)
                    place = f" at {at}" if len(operators) > 1 else ""
                    yield f"{type(operator).__name__} becomes {other.__name__}{place}", new
        case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC and not _is_of_texts(node):
            changed = _ARITHMETIC[type(operator)]
            yield f"{type(operator).__name__} becomes {changed.__name__}", ast.BinOp(left, changed(), right)
        case ast.BoolOp(ast.And(), values):
            yield "and becomes or", ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(ast.Or(), values):
            yield "or becomes and", ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "not left out", operand
        case ast.Constant(bool(value)):
            yield f"{value} becomes {not value}", ast.Constant(not value)
        case ast.Constant(int(value)):
            yield f"{value} becomes {value + 1}", ast.Constant(value + 1)
            yield f"{value} becomes {value - 1}", ast.Constant(value - 1)


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement, except those that no test notices."""
    for name, value in ast.iter_fields(statement):
        if name not in _UNREAD_FIELDS:
            yield from (part for part in (value if isinstance(value, list) else [value]) if isinstance(part, ast.AST))


def _is_of_texts(node: ast.BinOp) -> bool:
    texts = (ast.JoinedStr, ast.Constant)
    return any(isinstance(side, texts) and not _is_number(side) for side in (node.left, node.right))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, str | bytes)


def _is_unread(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()):
            return True
        case ast.If(test=ast.Name(name)) | ast.Assign(targets=[ast.Name(name), *_]) | ast.AnnAssign(ast.Name(name)):
            return name in _UNREAD_NAMES
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name)))):
            return name in _UNREAD_NAMES
    return False


def _names_of(statement: ast.stmt, around: frozenset[str]) -> frozenset[str]:
    """Return the names that a statement at the import defines: for a class the constants in it, or itself."""
    own = _defined(statement)
    return own if own and all(name.isupper() for name in own) else around or own


def _defined(statement: ast.stmt) -> frozenset[str]:
    match statement:
        case ast.ClassDef(name):
            return frozenset({name})
        case ast.Assign(targets):
            return frozenset(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(ast.Name(name)):
            return frozenset({name})
    return frozenset()


def _header(statement: ast.stmt) -> frozenset[int]:
    """Return the lines of a statement, without those of the statements inside."""
    inner = [node.lineno for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement]
    behind = min(inner, default=(statement.end_lineno or statement.lineno) + 1)
    return frozenset(range(statement.lineno, max(behind, statement.lineno + 1)))


def _first_lines(body: list[ast.stmt]) -> frozenset[int]:
    """Return the lines that run in every call of a function: its first statement, or the one after the docstring."""
    return frozenset(line for statement in body[:2] for line in _header(statement))
