"""Copies of a data directory."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import NamedTuple

_NOT_COPIED = ".lock"  # it marks a directory as used, and closing any descriptor of it would release the lock


class Snapshot(NamedTuple):
    """All data of a broker at one moment, in a separate directory."""

    path: str


def copy_directory(source: str, target: str) -> None:
    """Copy a data directory to a path that does not exist yet. Raises OSError."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(_NOT_COPIED), copy_function=_copy_file)


def _copy_file(source: str, target: str) -> None:
    with suppress(FileNotFoundError):  # a checkpoint's new version, renamed by a thread since the directory was listed
        shutil.copyfile(source, target)


def replace_directory(source: str, target: str) -> None:
    """Replace `target` by a copy of `source`. No broker may be using it."""
    partial = f"{target}.restoring"
    shutil.rmtree(partial, ignore_errors=True)
    copy_directory(source, partial)
    if os.path.isdir(target):
        shutil.rmtree(target)
    os.rename(partial, target)
