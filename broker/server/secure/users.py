"""`users.properties`: the users of a secured broker and their passwords, a line each. Pure.

A password is letters and digits, so that all kinds of settings can contain it. No error quotes a line: it may be
secret.
"""

from __future__ import annotations

from collections.abc import Mapping

USERS = ("admin", "client")
"""The user with all rights, and a user with the rights of an application. Every list has both."""


def users_of(text: str) -> dict[str, str]:
    """Return the passwords by user. Raise ValueError with a sentence that names the line."""
    passwords: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, sign, password = line.partition("=")
        wrong = _wrong(user, sign, password, passwords)
        if wrong is not None:
            raise ValueError(f"line {number} {wrong}")
        passwords[user] = password
    for user in USERS:
        if user not in passwords:
            raise ValueError(f"the line {user}=PASSWORD is missing: put it back, with letters and digits as a password")
    return passwords


def text_of(passwords: Mapping[str, str]) -> str:
    """Return the content of the file."""
    return "".join(f"{user}={password}\n" for user, password in passwords.items())


def text_with(text: str, users: Mapping[str, str]) -> str:
    """Return the list with these users' passwords added or changed. Other lines and comments stay as they are."""
    lines, further = text.splitlines(), dict(users)
    for number, line in enumerate(lines):
        user, sign, _ = line.partition("=")
        if sign and user in further:
            lines[number] = f"{user}={further.pop(user)}"
    return "".join(f"{line}\n" for line in lines) + text_of(further)


def why_no_user(user: str, password: str) -> str | None:
    """Return what is wrong with a user to be added, if anything: `has no password`."""
    return _wrong(user, "=", password, {})


def _wrong(user: str, sign: str, password: str, others: Mapping[str, str]) -> str | None:
    """Return what is wrong with a line, if anything."""
    if not sign:
        return "has no =, but lines must be NAME=PASSWORD"
    if not user.isidentifier():
        return "has a name that is not letters, digits and _, or begins with a digit"
    if user in others:
        return "has the name of a line before it"
    if not password:
        return "has no password"
    if not password.isalnum():
        return "has a password that is not letters and digits alone, without blanks"
    return None
