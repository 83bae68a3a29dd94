"""A job's settings: one frozen dataclass a job, filled from its defaults, a TOML file, the environment and flags.

A field is declared once, with its default and its meaning, and is then a flag (`--max-offsets-per-trigger`), a key of
the job's table in the file (`max-offsets-per-trigger`), and a variable (`VALIDATE_MAX_OFFSETS_PER_TRIGGER`). Flags win
over the environment, which wins over the file. Unknown names are refused. Pure, except for reading the file.
"""

from __future__ import annotations

import argparse
import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from barnabas.client.near_names import did_you_mean

C = TypeVar("C")
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


class PipelineConfigError(ValueError):
    """A setting is unknown, missing or of the wrong kind; the message is a sentence."""


def setting(default: Any, meaning: str) -> Any:
    """Declare a field of a job's settings. Its type is that of the default; a default of None means optional text."""
    return dataclasses.field(default=default, metadata={"meaning": meaning})


def load(kind: type[C], job: str, arguments: Sequence[str], environment: Mapping[str, str], description: str) -> C:
    """Return the settings of a job. `--help` and invalid flags end the program, as argparse does."""
    parser = _parser(kind, job, description)
    flags = vars(parser.parse_args(arguments))
    path = flags.pop("config") or environment.get(_variable(job, "config"))
    try:
        found = _from_file(kind, job, path) | _from_environment(kind, job, environment)
        found |= {name: _value(kind, name, text) for name, text in flags.items() if text is not None}
        return kind(**found)
    except PipelineConfigError as error:
        parser.error(str(error))


def _parser(kind: type[Any], job: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m pipeline.jobs.{job}",
        description=description,
        epilog=f"Each may also be in the table [{job}] of the file from --config, or in the environment, as"
        f" in {_variable(job, 'bootstrap_servers')}.",
    )
    parser.add_argument("--config", metavar="FILE", help="a TOML file")
    for field in dataclasses.fields(kind):
        default = "" if field.default in (None, "") else f" (default: {_shown(field.default)})"
        parser.add_argument(_flag(field.name), metavar="…", help=f"{field.metadata['meaning']}{default}")
    return parser


def _from_file(kind: type[Any], job: str, path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        tables = tomllib.loads(Path(path).read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PipelineConfigError(f"{path} cannot be read: {error}") from error
    table = tables.get(job, {})
    names = {_flag(name)[2:]: name for name in _names(kind)}
    unknown = [key for key in table if key not in names]
    if unknown:
        known = did_you_mean(unknown[0], names) or f"; known are {', '.join(sorted(names))}"
        raise PipelineConfigError(f"{path}: [{job}] has an unknown key {unknown[0]}{known}")
    return {names[key]: _value(kind, names[key], _shown(value)) for key, value in table.items()}


def _from_environment(kind: type[Any], job: str, environment: Mapping[str, str]) -> dict[str, Any]:
    found = {name: environment.get(_variable(job, name)) for name in _names(kind)}
    return {name: _value(kind, name, text) for name, text in found.items() if text is not None}


def _value(kind: type[Any], name: str, text: str) -> Any:
    default = next(field.default for field in dataclasses.fields(kind) if field.name == name)
    try:
        if isinstance(default, bool):
            if text.lower() not in (*_TRUE, *_FALSE):
                raise ValueError
            return text.lower() in _TRUE
        return type(default)(text) if isinstance(default, int) else text
    except ValueError:
        wanted = "true or false" if isinstance(default, bool) else "a whole number"
        raise PipelineConfigError(f"{_flag(name)} is {text!r}, and must be {wanted}") from None


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _variable(job: str, name: str) -> str:
    return f"{job}_{name}".upper()


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Streaming:
    """The settings that all streaming jobs share."""

    bootstrap_servers: str = setting("127.0.0.1:9092", "brokers, host:port, separated by commas")
    checkpoint_location: str | None = setting(None, "the directory for the query's progress; required")
    starting_offsets: str = setting("earliest", "where a new checkpoint begins: earliest, latest, or JSON")
    max_offsets_per_trigger: int = setting(0, "the maximum number of offsets in a batch; 0: all available")
    trigger: str = setting(
        "available-now", "available-now: process everything available, then end; or an interval, as in '1 second'"
    )
    source_format: str = setting("barnabas", "barnabas, or kafka for Spark's stock connector")
    sink_format: str = setting(
        "barnabas", "barnabas, exactly once; or kafka, which writes records twice after a failure"
    )
    metrics: str | None = setting(None, "a file that gets a line of JSON for each batch")
    shuffle_partitions: int = setting(2, "spark.sql.shuffle.partitions, for a session that the job creates")
