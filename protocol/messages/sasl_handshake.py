"""SaslHandshake (key 17), versions 0 to 1, never flexible: choose a SASL mechanism.

Version 0 sends the tokens that follow as bare frames, version 1 wraps them into SaslAuthenticate.
"""

from barnabas.protocol.codec.schema import INT16, STRING, Request, Response, array, field


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    mechanism: str = field(STRING)


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    error_code: int = field(INT16)
    mechanisms: list[str] = field(array(STRING))
