"""The login from `sasl.jaas.config` and the related properties.

The login modules of Kafka are known by their class names; their options have the same meaning here.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.security.settings import (
    EndpointLogin,
    Login,
    PasswordLogin,
    ProvidedLogin,
    Secret,
    SettingsError,
    UnsecuredLogin,
)
from barnabas.protocol.security.jaas import parse_modules

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_HANDLER = "OAuthBearerLoginCallbackHandler"  # Kafka's handler that requests tokens from an endpoint
_UNSECURED = "unsecuredLogin"
_EXTENSION = "extension_"
Extensions = tuple[tuple[str, str], ...]


def login_of(mechanism: str, given: Mapping[str, str]) -> tuple[Login, Extensions]:
    """Return the login, and the extensions that OAUTHBEARER sends besides the token. SettingsError."""
    provider = given.get("sasl.oauthbearer.token.provider")
    if mechanism != "OAUTHBEARER":
        if provider is not None:
            raise SettingsError(f"sasl.oauthbearer.token.provider is set, but sasl.mechanism is {mechanism}")
        return _password_login(mechanism, _options(mechanism, given)), ()
    options = _options(mechanism, given, is_required=False)
    extensions = tuple(
        (name.removeprefix(_EXTENSION), value) for name, value in options.items() if name.startswith(_EXTENSION)
    )
    if provider is not None:
        module, colon, name = provider.partition(":")
        if not module or not colon or not name:
            raise SettingsError(f"sasl.oauthbearer.token.provider is {provider!r}, and must be module:callable")
        return ProvidedLogin(provider), extensions
    handler = given.get("sasl.login.callback.handler.class", _HANDLER)
    if handler.rpartition(".")[2] != _HANDLER:
        raise SettingsError(
            "sasl.login.callback.handler.class names a Java class, which cannot run here: set"
            " sasl.oauthbearer.token.provider to a Python function that returns a token"
        )
    if "sasl.oauthbearer.token.endpoint.url" in given:
        return _endpoint_login(given, options), extensions
    return _unsecured_login(options), extensions


def _options(mechanism: str, given: Mapping[str, str], *, is_required: bool = True) -> dict[str, str]:
    text = given.get("sasl.jaas.config")
    if text is None:
        if not is_required:
            return {}
        raise SettingsError(f'{mechanism} needs sasl.jaas.config, as in: {_MODULES[mechanism]} required username="…";')
    try:
        modules = parse_modules(text)
    except ValueError as error:
        raise SettingsError(f"sasl.jaas.config: {error}") from None
    if len(modules) != 1:
        raise SettingsError(f"sasl.jaas.config has {len(modules)} login modules, but a client has one")
    if modules[0].name != _MODULES[mechanism]:
        raise SettingsError(f"sasl.jaas.config names {modules[0].name}, but {mechanism} uses {_MODULES[mechanism]}")
    return modules[0].options


def _password_login(mechanism: str, options: Mapping[str, str]) -> PasswordLogin:
    for name in ("username", "password"):
        if not options.get(name):
            raise SettingsError(f"sasl.jaas.config has no {name}, which {mechanism} needs")
    is_token = options.get("tokenauth", "").lower() == "true"
    return PasswordLogin(options["username"], Secret(options["password"]), is_token)


def _endpoint_login(given: Mapping[str, str], options: Mapping[str, str]) -> EndpointLogin:
    url = given["sasl.oauthbearer.token.endpoint.url"]
    if not url.lower().startswith(("http://", "https://")):
        raise SettingsError("sasl.oauthbearer.token.endpoint.url must begin with https:// (or http://)")
    named = "sasl.oauthbearer.client.credentials.client"
    client_id = given.get(f"{named}.id", options.get("clientId"))
    client_secret = given.get(f"{named}.secret", options.get("clientSecret"))
    if not client_id or not client_secret:
        raise SettingsError(
            f"the token endpoint needs {named}.id and {named}.secret, or clientId and clientSecret in "
            "sasl.jaas.config: one of the two is missing"
        )
    return EndpointLogin(
        url, client_id, Secret(client_secret), given.get("sasl.oauthbearer.scope", options.get("scope"))
    )


def _unsecured_login(options: Mapping[str, str]) -> UnsecuredLogin:
    claims: list[tuple[str, str | float | tuple[str, ...]]] = []
    for option, value in options.items():
        kind, _, name = option.removeprefix(_UNSECURED).partition("_")
        if not option.startswith(_UNSECURED) or not name:
            continue
        if kind == "StringClaim":
            claims.append((name, value))
        elif kind == "NumberClaim":
            claims.append((name, _number(option, value)))
        elif kind == "ListClaim":
            claims.append((name, tuple(value[1:].split(value[:1])) if value else ()))
    principal = options.get(f"{_UNSECURED}PrincipalClaimName", "sub")
    if principal not in dict(claims):
        raise SettingsError(
            "OAUTHBEARER needs a token: set sasl.oauthbearer.token.provider or sasl.oauthbearer.token.endpoint.url, or,"
            f" for tokens without a signature, {_UNSECURED}StringClaim_{principal} in sasl.jaas.config"
        )
    lifetime_s = _number("lifetime", options.get(f"{_UNSECURED}LifetimeSeconds", "3600"))
    return UnsecuredLogin(tuple(claims), lifetime_s)


def _number(option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise SettingsError(f"sasl.jaas.config: {option} is not a number") from None
    return int(number) if number.is_integer() else number
