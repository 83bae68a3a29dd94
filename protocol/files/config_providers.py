"""Apache Kafka's configuration providers: `${file:/path:key}`, `${dir:/path:name}` and `${env:NAME}` in values.

`config.providers` names the providers, `config.providers.NAME.class` is the class of each, and `….param.…` limits what
it may read. Variables are found as in Kafka: a value may have several, they are replaced by their values, which are
not searched again. The providers' own settings are used literally. A variable of an unknown provider is not replaced.

Differs from Kafka if a variable has no value (no such key, no such file of a directory, not permitted): there the
variable stays in the value, and would be a password that anyone can guess; here it is an error. The errors name files,
keys and variables, never a value.

If paths are limited, links are resolved, so that none leads out of the permitted ones. Apart from that no file is read
here: the caller reads files and the environment, and limits their size.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import properties
from barnabas.protocol.java_patterns import JavaPattern, UntranslatableError

PROVIDERS = "config.providers"
_PACKAGE = "org.apache.kafka.common.config.provider."
_FILE, _DIRECTORY, _ENVIRONMENT = "FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider"
_CLASSES = {_PACKAGE + name: name for name in (_FILE, _DIRECTORY, _ENVIRONMENT)}
_VARIABLE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")  # Kafka 4.4.0's: which part is the path is not obvious

Read = Callable[[str], bytes]


class UnresolvedError(ValueError):
    """A variable that cannot be resolved, or an invalid provider. `key` is the setting with the error."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(f"{key}: {sentence}")
        self.key = key


class _Provider(NamedTuple):
    kind: str
    allowed: JavaPattern | None
    """For the environment: the variables that may be read; None for all of them."""
    allowed_paths: tuple[str, ...]
    """For files and directories: the permitted parent directories, with links resolved; empty permits all."""


def names_of_providers(settings: Mapping[str, str]) -> list[str]:
    """Return the names in `config.providers`. Spaces belong to a name, as in Kafka."""
    named = settings.get(PROVIDERS, "")
    return named.split(",") if named.strip() else []


def variable_in(text: str, providers: list[str]) -> str | None:
    """Return the first variable of one of these providers in a value."""
    return next((found[0] for found in _VARIABLE.finditer(text) if found[1] in providers), None)


def resolved(settings: Mapping[str, str], read_file: Read, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with their variables replaced, without the providers' own settings. UnresolvedError.

    read_file: returns the bytes of a file, OSError.   variables: those of the environment.
    """
    names = names_of_providers(settings)
    if not names:
        return dict(settings)
    sources = {name: _Source(_provider(name, settings), read_file, variables) for name in names}
    own = tuple(f"{PROVIDERS}.{name}." for name in names)
    return {
        key: text if key == PROVIDERS else _replaced(key, text, sources)
        for key, text in settings.items()
        if not key.startswith(own)
    }


def _replaced(key: str, text: str, sources: Mapping[str, _Source]) -> str:
    def value(found: re.Match[str]) -> str:
        source = sources.get(found[1])
        if source is None:
            return found[0]
        try:
            return source.value(found[3] or "", found[4])
        except ValueError as wrong:
            raise UnresolvedError(key, str(wrong)) from None

    return _VARIABLE.sub(value, text) if "${" in text else text


def _provider(name: str, settings: Mapping[str, str]) -> _Provider:
    prefix = f"{PROVIDERS}.{name}."
    class_name = settings.get(prefix + "class")
    if class_name is None:
        raise UnresolvedError(PROVIDERS, f"{name!r} is named, but {prefix}class is not set")
    kind = _CLASSES.get(class_name)
    if kind is None:
        known = f"{_FILE}, {_DIRECTORY} and {_ENVIRONMENT} of {_PACKAGE.rstrip('.')}"
        raise UnresolvedError(f"{prefix}class", f"{class_name} is not supported, only {known}")
    pattern, paths = f"{prefix}param.allowlist.pattern", f"{prefix}param.allowed.paths"
    try:
        allowed = JavaPattern(settings[pattern]) if kind == _ENVIRONMENT and pattern in settings else None
    except UntranslatableError as wrong:
        raise UnresolvedError(pattern, f"not a regular expression that is understood: {wrong}") from None
    listed = settings.get(paths, "") if kind != _ENVIRONMENT else ""
    return _Provider(kind, allowed, tuple(_allowed_path(paths, path) for path in listed.split(",")) if listed else ())


def _allowed_path(key: str, path: str) -> str:
    if not posixpath.isabs(path):
        raise UnresolvedError(key, f"{path} is not an absolute path")
    try:
        return posixpath.realpath(posixpath.normpath(path), strict=True)
    except (OSError, ValueError) as error:
        raise UnresolvedError(key, f"{path} is not there: {_why(error)}") from None


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)  # ValueError: a NUL in a name


class _Source:
    """A provider with the files it has read: each is read once. Its errors are ValueErrors, as a sentence."""

    def __init__(self, provider: _Provider, read_file: Read, variables: Mapping[str, str]) -> None:
        self._provider = provider
        self._read_file = read_file
        self._variables = variables
        self._files: dict[str, bytes] = {}

    def value(self, path: str, key: str) -> str:
        """Return the value of `${provider:path:key}`."""
        if self._provider.kind == _ENVIRONMENT:
            return self._of_environment(path, key)
        if not path:
            raise ValueError(f"{key} has no path: write ${{provider:path:key}}")
        if self._provider.allowed_paths:
            path = self._allowed(path)
        return self._of_file(path, key) if self._provider.kind == _FILE else self._of_directory(path, key)

    def _of_environment(self, path: str, name: str) -> str:
        if path:
            raise ValueError(f"{path} is a path, which an environment variable does not have: write ${{provider:NAME}}")
        if self._provider.allowed is not None and self._provider.allowed.matches(name) is None:
            raise ValueError(f"the provider's allowlist.pattern does not allow the environment variable {name}")
        if name not in self._variables:
            raise ValueError(f"the environment variable {name} is not set")
        return self._variables[name]

    def _of_file(self, path: str, key: str) -> str:
        try:
            found = properties.decode_utf8(self._bytes(path))  # Kafka's provider, unlike Properties, reads UTF-8
        except DecodeError as wrong:
            raise ValueError(f"{path}: {wrong}") from None
        if key not in found:
            raise ValueError(f"{path} has no key {key}")
        return found[key]

    def _of_directory(self, path: str, name: str) -> str:
        if "/" in name or name in ("", ".", ".."):
            raise ValueError(f"{name!r} is not the name of a file in {path}")
        try:
            return self._bytes(posixpath.join(path, name)).decode()
        except UnicodeDecodeError:
            raise ValueError(f"{posixpath.join(path, name)} is not in UTF-8") from None

    def _allowed(self, path: str) -> str:
        """Return the path without links."""
        try:
            real = posixpath.realpath(path, strict=True)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} cannot be read: {_why(error)}") from None
        if not any(real == each or real.startswith(each.rstrip("/") + "/") for each in self._provider.allowed_paths):
            raise ValueError(f"{path} is outside the provider's allowed.paths")
        return real

    def _bytes(self, path: str) -> bytes:
        if path not in self._files:
            try:
                self._files[path] = self._read_file(path)
            except (OSError, ValueError) as error:
                raise ValueError(f"{path} cannot be read: {_why(error)}") from None
        return self._files[path]
