"""kafka-configs for users, clients and addresses: quotas, and passwords for SCRAM."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from decimal import Decimal

from barnabas.broker.cli.kafka.flags import CommandRefused
from barnabas.client.admin.quotas import Entity, alter_quotas, describe_quotas
from barnabas.client.admin.scram import BY_NAME, NewPassword, alter_credentials, describe_credentials
from barnabas.client.client import Client
from barnabas.protocol.security.scram import ITERATIONS_MIN

USERS, CLIENTS, IPS = "users", "clients", "ips"
_KINDS = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}
_SHOWN = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_OF_USERS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
_OF_IPS = ("connection_creation_rate",)
_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)
_SALT_BYTES = 32
_VIA = "using --bootstrap-server"


def check_address(name: str) -> None:
    """Raise CommandRefused for text that is neither an address nor a resolvable host name."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        what = f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}"
        raise CommandRefused(what) from None


# --- altering ---


def alter_users(
    client: Client, types: Sequence[str], names: Sequence[str], added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    """Set and remove quotas of an entity, or a user's passwords: one kind at a time."""
    keys = [*added, *deleted]
    if types[0] == IPS:
        _check_keys_of_ips(keys)
    else:
        _check_keys(types, [*added], "added")
        _check_keys(types, deleted, "deleted")
    has_passwords = any(key in BY_NAME for key in keys)
    if has_passwords and "" in names:
        raise CommandRefused(
            f"The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials {_VIA}."
        )
    if not has_passwords:
        _alter_quotas(client, types, names, added, deleted)
        return
    if any(key not in BY_NAME for key in keys):
        raise CommandRefused(f"Cannot alter both quota and SCRAM credential configs simultaneously for 'users' {_VIA}.")
    passwords = {BY_NAME[key]: _password(key, value) for key, value in added.items()}
    alter_credentials(client, names[0], passwords, [BY_NAME[key] for key in deleted])


def _check_keys_of_ips(keys: Sequence[str]) -> None:
    """Raise CommandRefused for keys that an address cannot have."""
    if unknown := [key for key in keys if key not in _OF_IPS]:
        what = f"Only connection quota configs can be added for '{IPS}' {_VIA}"
        raise CommandRefused(f"{what}. Unexpected config names: {', '.join(unknown)}")


def _check_keys(types: Sequence[str], keys: Sequence[str], done: str) -> None:
    """Raise CommandRefused for keys that a user or a client cannot have."""
    if CLIENTS in types:
        unknown = [key for key in keys if key not in _OF_USERS]
        what, whose = "quota", CLIENTS
    else:
        unknown = [key for key in keys if key not in _OF_USERS and key not in BY_NAME]
        what, whose = "quota and SCRAM credential", USERS
    if unknown:
        names = ",".join(unknown)
        raise CommandRefused(
            f"Only {what} configs can be {done} for '{whose}' {_VIA}. Unexpected config names: {names}"
        )


def _password(mechanism: str, text: str) -> NewPassword:
    """Parse `[iterations=N,]password=…`. CommandRefused, without the password in it."""
    match = _CREDENTIAL.fullmatch(text)
    if match is None or match[1] == "":
        raise CommandRefused(f"Invalid credential property {mechanism}")
    iterations = ITERATIONS_MIN if match[1] in (None, "-1") else int(match[1])
    if iterations < ITERATIONS_MIN:
        least = f"the minimum {ITERATIONS_MIN} required for {mechanism}"
        raise CommandRefused(f"Iterations {iterations} is less than {least}")
    return NewPassword(iterations, match[2], os.urandom(_SALT_BYTES))


def _alter_quotas(
    client: Client, types: Sequence[str], names: Sequence[str], added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    entity = {_KINDS[kind]: name or None for kind, name in zip(types, names, strict=True)}
    there = next((each.quotas for each in describe_quotas(client) if dict(each.entity) == entity), {})
    missing = [key for key in deleted if key not in there]
    if missing:
        raise CommandRefused(f"Invalid config(s): {','.join(missing)}")
    changes: dict[str, float | None] = dict.fromkeys(deleted)
    for key, value in added.items():
        try:
            changes[key] = float(value)
        except ValueError:
            raise CommandRefused(f"Cannot parse quota configuration value for {key}") from None
    alter_quotas(client, entity, changes)


# --- describing ---


def describe_users(client: Client, types: Sequence[str], names: Sequence[str]) -> None:
    """Print the quotas of entities of exactly these types, and the SCRAM mechanisms of users."""
    if len(names) > len(types):
        raise CommandRefused("More entity names specified than entity types")
    wanted = {_KINDS[kind]: name or None for kind, name in zip(types, names, strict=False)}
    kinds = {_KINDS[kind] for kind in types}
    for each in describe_quotas(client):
        if each.entity.keys() == kinds and all(each.entity[kind] == name for kind, name in wanted.items()):
            shown = ", ".join(f"{key}={_java_double(value)}" for key, value in sorted(each.quotas.items()))
            print(f"Quota configs for {_whose(each.entity)} are {shown}")
    if types == [USERS] and "" not in names:
        _describe_passwords(client, names)


def _whose(entity: Entity) -> str:
    parts = [(_SHOWN[kind], entity[kind]) for kind in _SHOWN if kind in entity]
    return ", ".join(f"the default {kind}" if name is None else f"{kind} '{name}'" for kind, name in parts)


def _describe_passwords(client: Client, names: Sequence[str]) -> None:
    for user, iterations in sorted(describe_credentials(client, names or None).items()):
        shown = ", ".join(f"{mechanism}=iterations={count}" for mechanism, count in iterations.items())
        print(f"SCRAM credential configs for user-principal '{user}' are {shown}")


def _java_double(value: float) -> str:
    """Return the number as Java prints it: 1.0E7 from ten million up."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *others = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(others) or '0'}E{int(exponent) + len(others)}"
