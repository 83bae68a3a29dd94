"""Does the configuration make sense? The warnings of serve, and the probable meaning of unknown keys."""

from __future__ import annotations

from barnabas.broker.cli.doctor.finding import CheckResult, note, ok, warning
from barnabas.broker.config.environment import EnvironmentSettings
from barnabas.broker.config.load import LoadedConfig
from barnabas.broker.config.unknown_keys import UNKNOWN_KEY

_CHECK = "configuration"


def examine(loaded: LoadedConfig, environment: EnvironmentSettings) -> list[CheckResult]:
    """Return the findings about a usable configuration."""
    findings = [_explained(each) for each in loaded.warnings]
    used = sorted({environment.variables[key] for key in environment.settings if key in environment.variables})
    if used:
        findings.append(note(_CHECK, f"taken from the environment: {', '.join(used)}"))
    return findings or [ok(_CHECK, "every key and value is known")]


def _explained(sentence: str) -> CheckResult:
    return (warning if sentence.startswith(UNKNOWN_KEY) else note)(_CHECK, sentence)
