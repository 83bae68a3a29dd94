"""What a release requires of the tree, before anything is built."""

from __future__ import annotations

import re

from scripts.releasing.process import NoRelease


def refuse(version: str, changelog: str, tag: str, status: str) -> None:
    """Raise NoRelease if the tree cannot be released.

    tag: of the commit; without one the release is a trial, which needs no date. status: of `git status --porcelain`.
    """
    if status:
        changes = status.splitlines()
        others = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
        raise NoRelease(f"{changes[0][3:]}{others} is not committed; a release is built from a commit")
    if tag and tag != f"v{version}":
        raise NoRelease(f"the tag {tag} is not v{version}, the version in pyproject.toml")
    heading = re.search(rf"^## {re.escape(version)}(?: \((.*)\))?$", changelog, re.MULTILINE)
    if heading is None:
        raise NoRelease(f"CHANGELOG.md has no heading `## {version}`")
    if tag and not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[1] or ""):
        raise NoRelease(f"the heading of {version} in CHANGELOG.md has no date, as in `## {version} (2026-12-01)`")
