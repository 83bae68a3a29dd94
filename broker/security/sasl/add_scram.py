"""A user of SCRAM in the words of `kafka-storage format --add-scram`: `SCRAM-SHA-256=[name=alice,password=secret]`.

Also `iterations=8192`, `salt="…"` in base64, and in place of the password, with a salt, `saltedpassword="…"` in base64.
As there, a value may be in double quotes and has no comma. Kafka does not have the following, which keeps passwords out
of the list of processes: `passwordfile=FILE`, whose first line is the password, and `passwordvariable=NAME`, a variable
of the environment. No error message quotes a value: it may be a secret.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import NamedTuple

from barnabas.protocol.security.scram import ITERATIONS_MAX, ITERATIONS_MIN, MECHANISMS, ScramMechanism

_PARTS = ("name", "password", "iterations", "salt", "saltedpassword", "passwordfile", "passwordvariable")
_SECRETS = ("password", "passwordfile", "passwordvariable", "saltedpassword")


class NewUser(NamedTuple):
    """A user to create. Either `password` or both `salt` and `salted_password` are given."""

    mechanism: ScramMechanism
    name: str
    iterations: int
    salt: bytes | None
    password: str | None
    salted_password: bytes | None

    def __repr__(self) -> str:
        return f"NewUser({self.name!r}, {self.mechanism.name})"


def parse_user(text: str, read_file: Callable[[str], bytes], variables: Mapping[str, str]) -> NewUser:
    """Parse the text of a user. Raise ValueError with a sentence."""
    name, equals, rest = text.strip().partition("=")
    mechanism = next((each for each in MECHANISMS if each.name == name), None)
    if mechanism is None or not equals:
        raise ValueError(f"begins with {' or '.join(f'{each.name}=' for each in MECHANISMS)}")
    if not (rest.startswith("[") and rest.endswith("]")):
        raise ValueError("has its parts in brackets: [name=…,password=…]")
    parts: dict[str, str] = {}
    for part in rest[1:-1].split(","):
        key, equals, value = part.partition("=")
        if not equals or key not in _PARTS:
            raise ValueError(f"has parts KEY=VALUE with {', '.join(_PARTS)}, and no comma in a value")
        parts[key] = value[1:-1] if len(value) >= 2 and value[0] == value[-1] == '"' else value
    if sum(each in parts for each in _SECRETS) != 1:
        raise ValueError(
            "needs a password, a passwordfile, a passwordvariable or a saltedpassword, and only one of them"
        )
    if "passwordfile" in parts:
        parts["password"] = _first_line(parts["passwordfile"], read_file)
    elif "passwordvariable" in parts:
        parts["password"] = variables.get(parts["passwordvariable"], "")
    if "saltedpassword" not in parts and not parts["password"]:
        raise ValueError("has an empty password, or its variable is not set")
    return _user(mechanism, parts)


def _first_line(path: str, read_file: Callable[[str], bytes]) -> str:
    try:
        return read_file(path).decode().partition("\n")[0].removesuffix("\r")
    except OSError as error:
        raise ValueError(f"has a passwordfile that cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise ValueError("has a passwordfile that is not UTF-8") from None


def _user(mechanism: ScramMechanism, parts: dict[str, str]) -> NewUser:
    if not parts.get("name"):
        raise ValueError("needs a name")
    if "saltedpassword" in parts and "salt" not in parts:
        raise ValueError("needs the salt of its saltedpassword")
    iterations = parts.get("iterations", str(ITERATIONS_MIN))
    is_number = iterations.isascii() and iterations.isdecimal()
    if not is_number or not ITERATIONS_MIN <= int(iterations) <= ITERATIONS_MAX:
        raise ValueError(f"has {ITERATIONS_MIN} to {ITERATIONS_MAX} iterations")
    salt, salted_password = (_bytes(parts.get(key), key) for key in ("salt", "saltedpassword"))
    return NewUser(mechanism, parts["name"], int(iterations), salt, parts.get("password"), salted_password)


def _bytes(text: str | None, key: str) -> bytes | None:
    try:
        return None if text is None else b64decode(text, validate=True)
    except ValueError:
        raise ValueError(f"has a {key} that is not base64") from None
