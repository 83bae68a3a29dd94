"""A token provider as users have one, named `tests.support.token_provider:token`: unsigned tokens."""

import time

from barnabas.client.security.settings import Token, UnsecuredLogin
from barnabas.client.security.tokens import unsecured_token


def token() -> Token:
    """Of alice, for an hour."""
    return unsecured_token(UnsecuredLogin((("sub", "alice"),)), int(time.time() * 1000))
