"""Refuse to replace what compiled modules call directly: the test would go on with the real one, and might pass.

Compiled code calls compiled functions, methods and classes without looking them up (docs/compiled.md).
"""

from __future__ import annotations

import sys
import types
from importlib.machinery import ExtensionFileLoader
from typing import Any

import pytest
from _pytest.monkeypatch import derive_importpath

_NATIVE = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    type,
)

_setattr = pytest.MonkeyPatch.setattr


def refuse_native_patches() -> None:
    """Have `setattr` of every monkeypatch raise AssertionError for what is native, until the process ends."""
    pytest.MonkeyPatch().setattr(pytest.MonkeyPatch, "setattr", _checked_setattr)


def is_native(owner: object, name: str) -> bool:
    """Return whether this is a function or class of a compiled module, or a method or property of a compiled class."""
    if isinstance(owner, type):
        owner = next((each for each in owner.__mro__ if name in vars(each)), owner)
    elif not isinstance(owner, types.ModuleType):
        return False
    found = vars(owner).get(name)
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    module = sys.modules.get(owner.__module__ if isinstance(owner, type) else owner.__name__)
    is_compiled = module is not None and isinstance(module.__loader__, ExtensionFileLoader)
    return is_compiled and isinstance(found, _NATIVE) and _home(found, owner).startswith("barnabas.")


def _home(found: object, owner: object) -> str:
    """Return the module that defines what a module or class has under a name."""
    defined_by = found if isinstance(owner, types.ModuleType) else owner
    return getattr(defined_by, "__module__", None) or ""


def _checked_setattr(patch: pytest.MonkeyPatch, target: Any, name: Any, *rest: Any, **options: Any) -> None:
    attribute, owner = derive_importpath(target, raising=False) if isinstance(target, str) else (name, target)
    assert not is_native(owner, attribute), f"compiled code would still call the real {attribute}: mark the test pure"
    _setattr(patch, target, name, *rest, **options)
