"""Planting a mistake where the module was imported already: the present functions get the changed code.

It works for code that runs only when a function is called, and was not called yet.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import CodeType, FunctionType

from scripts.mutating.points import mutated
from scripts.mutating.process import ROOT

Functions = dict[tuple[str, str, int], list[FunctionType]]


def functions() -> Functions:
    """Return all present functions of the product, by file, qualified name and first line."""
    found: Functions = {}
    product = str(ROOT / "barnabas")
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename.startswith(product):
            found.setdefault(_key(function.__code__), []).append(function)
    return found


def plant(file: str, point: str, found: Functions) -> int:
    """Plant the mistake; return how many functions have new code, 0 if the mistake needs more than that."""
    path = ROOT / "barnabas" / file
    tree = mutated(path.read_text(), point)
    pairs = [
        (function, code)
        for code in _codes(compile(tree, str(path), "exec", dont_inherit=True))
        for function in found.get(_key(code), ())
    ]
    if any(function.__code__.co_flags != code.co_flags for function, code in pairs):  # without its only `yield`
        return 0
    for function, code in pairs:
        function.__code__ = code
    return len(pairs)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno
