"""The broker's loggers as a resource (BROKER_LOGGER): their levels are read and changed at run time, and not stored.

`root` is everything in this process, `kafka` the broker, `kafka.net` and the like one part of it. Names and levels are
those of Kafka's tools (`kafka-configs.sh --entity-type broker-loggers`); behind them are Python's loggers, `barnabas`
for `kafka`. A logger without its own level has the level of the nearest logger above that has one. The broker logs
nothing below DEBUG or above ERROR: TRACE shows no more than DEBUG, and FATAL shows nothing. Error codes and messages
are Apache Kafka 4.4.0's.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import MappingProxyType

from barnabas.broker.metadata.catalogue.config_alterations import (
    Alteration,
    AlterConfigOp,
    broker_number,
    check_alterations,
)
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError

_log = logger("config")

ROOT = "root"
PARTS = (
    "api",
    "app",
    "authorizer.logger",
    "catalogue",
    "cleaner",
    "cluster",
    "config",
    "control",
    "coordinator",
    "faults",
    "http",
    "net",
    "registry",
    "security",
    "seed",
    "share",
    "storage",
    "workers",
)
"""The parts of the broker that have their own logger (`log_lines.logger`)."""

_LOGGERS = MappingProxyType(
    {ROOT: "", "asyncio": "asyncio", "kafka": "barnabas"} | {f"kafka.{part}": f"barnabas.{part}" for part in PARTS}
)
_LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}
_EXISTING = (AlterConfigOp.SET, AlterConfigOp.DELETE)


def levels() -> dict[str, str]:
    """Return the effective level of every logger."""
    return {name: _level_name(_python_logger(name).getEffectiveLevel()) for name in _LOGGERS}


def alter_loggers(resource: str, alterations: Sequence[Alteration], node_id: int, *, validate_only: bool) -> None:
    """Set or remove levels. Raise KafkaError if one of them is not allowed; then none is changed."""
    check_alterations(alterations)
    _check_node(resource, node_id)
    for alteration in alterations:
        _check(alteration)
    if validate_only:
        return
    for name, operation, level in alterations:
        if operation == AlterConfigOp.DELETE:
            _python_logger(name).setLevel(logging.NOTSET)
        else:
            assert level is not None
            _python_logger(name).setLevel(_LEVELS[level])
        _log.warning(line("log level changed", logger=name, level=level))


def _check_node(resource: str, node_id: int) -> None:
    number = broker_number(resource, "Node id")
    if number != node_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected node id. Expected {node_id}, but received {number}")


def _check(alteration: Alteration) -> None:
    name, operation, level = alteration
    if operation not in _EXISTING:
        is_known = operation in list(AlterConfigOp)
        what = f"{AlterConfigOp(operation).name} operation" if is_known else f"Unknown operation type {operation}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{what} is not allowed for the BROKER_LOGGER resource")
    if name not in _LOGGERS:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if operation == AlterConfigOp.DELETE:
        if name == ROOT:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    elif level not in _LEVELS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(_LEVELS))}",
        )


def _python_logger(name: str) -> logging.Logger:
    return logging.getLogger(_LOGGERS[name])


def _level_name(number: int) -> str:
    """Return the name of the level, or of the next higher one: Python has numbers in between."""
    return next((name for name, level in _LEVELS.items() if number <= level), "FATAL")
