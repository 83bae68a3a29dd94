"""The security directory: `DATA_DIR.security/`, mode 0700, and its files with mode 0600, each written atomically.

Everything else is made from `authority.key` and `users.properties` at each start, so that an interrupted start and lost
other files are repaired. If one of the two exists and is broken, the start fails: another authority or other passwords
would lock every client out. One that is missing while the other files exist is created again, with a warning.

Invariant: only files that belong to the broker's own user, and that no other user can write, are trusted: another user
who prepared a directory would know the key of its authority and every password.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.server.secure.authority import Authority, authority_of, is_good, issue, new_authority
from barnabas.broker.server.secure.users import USERS, text_of, text_with, users_of, why_no_user

AUTHORITY, AUTHORITY_KEY, BROKER, USER_LIST = "authority.pem", "authority.key", "broker.pem", "users.properties"
NO_USERS: Final[Mapping[str, str]] = MappingProxyType({})
_PASSWORD_BYTES = 18
_OTHERS_WRITE, _OTHERS_ENTER = 0o022, 0o011
_log = logger("security")


class SecurityError(ValueError):
    """The directory cannot be used. str() is a sentence."""


class Security(NamedTuple):
    """The content of a security directory."""

    path: str
    passwords: dict[str, str]
    changed: Mapping[str, str] = NO_USERS
    """The passwords that the file does not have yet: `keep_users` writes them."""

    def file(self, name: str) -> str:
        """Return the path of one of its files."""
        return os.path.join(self.path, name)

    def __repr__(self) -> str:
        return f"Security({self.path!r})"


class DirectoryContent(NamedTuple):
    """The content that a start would find in a security directory. It would create what is missing or invalid."""

    security: Security
    """If no users exist yet, their passwords are placeholders for those that would be generated."""
    has_authority: bool = False
    has_users: bool = False
    has_certificate: bool = False


def directory_for(data_dir: str) -> str:
    """Return the path of a data directory's security directory, which is beside it."""
    return os.path.abspath(data_dir) + ".security"


def open_security(
    path: str,
    hosts: Collection[str],
    now_ms: int,
    random: Callable[[int], bytes],
    users: Mapping[str, str] = NO_USERS,
) -> Security:
    """Open the directory with an authority, a certificate for `hosts` and users; create those that do not exist.

    users: passwords of users to be added or changed; `keep_users` writes them, once it is certain that the broker has
    its data directory to itself. Raises SecurityError, OSError.
    """
    for user, password in users.items():
        if (wrong := why_no_user(user, password)) is not None:
            raise SecurityError(f"users: {user!r} {wrong}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    _check_whose(path)
    os.chmod(path, 0o700)
    there = {name for name in (AUTHORITY, AUTHORITY_KEY, BROKER, USER_LIST) if os.path.exists(os.path.join(path, name))}
    authority = _authority(path, there, now_ms)
    passwords = _users(path, there, random)
    changed = {user: password for user, password in users.items() if passwords.get(user) != password}
    if read(path, AUTHORITY) != authority.certificate_pem:
        write(path, AUTHORITY, authority.certificate_pem)
    issued = read(path, BROKER)
    if issued is None or not is_good(issued, authority, hosts, now_ms):
        write(path, BROKER, issue(authority, hosts, now_ms))
    return Security(path, {**passwords, **users}, changed)


def keep_users(security: Security) -> None:
    """Write the given users that differ from the file; its other lines stay. Raises OSError."""
    if security.changed:
        write(security.path, USER_LIST, text_with(read(security.path, USER_LIST) or "", security.changed))


def write(path: str, name: str, text: str) -> None:
    """Write a file of the directory atomically; only the broker's user can read it."""
    part = os.path.join(path, name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    os.replace(part, os.path.join(path, name))


def look(path: str, hosts: Collection[str], now_ms: int) -> DirectoryContent:
    """Return the content that a start would find in the directory; create nothing. Raises SecurityError, OSError."""
    if os.path.lexists(path):
        _check_whose(path)
    authority, passwords, issued = _stored_authority(path), _stored_users(path), read(path, BROKER)
    return DirectoryContent(
        Security(path, passwords or {user: user for user in USERS}),
        has_authority=authority is not None,
        has_users=passwords is not None,
        has_certificate=authority is not None and issued is not None and is_good(issued, authority, hosts, now_ms),
    )


def _check_whose(path: str) -> None:
    """Raise SecurityError if another user could have written the directory or its files. Raises OSError."""
    mode = os.stat(path).st_mode
    within = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    for each in (path, *within):
        if {os.lstat(each).st_uid, os.stat(each).st_uid} != {os.geteuid()}:
            why, then = "belongs to another user, who may know its keys", "make yourself the owner (chown)"
        elif within and os.stat(each).st_mode & _OTHERS_WRITE and (each == path or mode & _OTHERS_ENTER):
            why, then = "is writable by other users, who may know its keys", "remove that permission (chmod go-w)"
        else:
            continue
        raise SecurityError(f"{each} {why}: remove {path}, or, if you know who wrote it, {then}")


def _authority(path: str, there: Collection[str], now_ms: int) -> Authority:
    authority = _stored_authority(path)
    if authority is None:
        authority = new_authority(now_ms)
        write(path, AUTHORITY_KEY, authority.pem)
        if there:
            _warn(path, "authority created again", AUTHORITY_KEY, f"give clients the new {AUTHORITY}")
    return authority


def _stored_authority(path: str) -> Authority | None:
    stored = read(path, AUTHORITY_KEY)
    try:
        return None if stored is None else authority_of(stored)
    except ValueError:
        file, then = os.path.join(path, AUTHORITY_KEY), "put back a copy of it, or remove it"
        raise SecurityError(f"{file} is broken: {then} and give clients the new {AUTHORITY}") from None


def _users(path: str, there: Collection[str], random: Callable[[int], bytes]) -> dict[str, str]:
    passwords = _stored_users(path)
    if passwords is None:
        passwords = {user: random(_PASSWORD_BYTES).hex() for user in USERS}
        write(path, USER_LIST, text_of(passwords))
        if set(there) - {AUTHORITY_KEY}:  # an interrupted first start leaves only that one
            _warn(
                path, "users created again", USER_LIST, "give clients their new settings, and add your own users again"
            )
    return passwords


def _stored_users(path: str) -> dict[str, str] | None:
    stored = read(path, USER_LIST)
    try:
        return None if stored is None else users_of(stored)
    except ValueError as wrong:
        raise SecurityError(f"{os.path.join(path, USER_LIST)}: {wrong}") from None


def _warn(path: str, event: str, name: str, then: str) -> None:
    reason = "the other files exist, but this one does not"
    _log.warning(line(event, file=os.path.join(path, name), reason=reason, then=then))


def read(path: str, name: str) -> str | None:
    """Return the content of a file of the directory, None if it does not exist. Raises OSError."""
    try:
        with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None
