"""The security directory of `serve --secure`: its contents, and what a start would add. Changes nothing.

Damage in it stops a start, and is reported with the configuration.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.cli.doctor.finding import CheckResult, note, ok, problem

if TYPE_CHECKING:
    from barnabas.broker.server.secure.directory import DirectoryContent

_CHECK = "security directory"
_WRITABLE = os.W_OK | os.X_OK


def examine(content: DirectoryContent, *, is_ephemeral: bool) -> list[CheckResult]:
    """Return what a start would find and create."""
    path = Path(content.security.path)
    if is_ephemeral:
        return [ok(_CHECK, "a start creates it next to the temporary data directory, with new passwords")]
    existing = next(each for each in (path, *path.parents) if each.exists())
    if not os.access(existing, _WRITABLE):
        return [problem(_CHECK, f"{existing} is not writable for this user, and the start writes to {path}")]
    users = " and ".join(sorted(content.security.passwords))
    if not (content.has_authority or content.has_users):
        return [ok(_CHECK, f"{path} would be created, with an authority, a certificate, and passwords of {users}")]
    if not content.has_authority:
        return [
            note(_CHECK, f"{path} has no authority: a new one would be created, and clients need the new authority.pem")
        ]
    if not content.has_users:
        return [note(_CHECK, f"{path} has no users.properties: {users} would get new passwords")]
    if not content.has_certificate:
        return [ok(_CHECK, f"{path} has an authority and users; a new certificate would be issued")]
    return [ok(_CHECK, f"{path} has an authority, a certificate, and passwords of {users}")]
