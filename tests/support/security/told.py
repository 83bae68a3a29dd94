"""A server's answers to a token of OAUTHBEARER, over a raw socket."""

import socket

from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.protocol.registry import ApiKey, response_codec
from tests.support.worlds.broker import request_frame

INVALID = b'{"status":"invalid_token"}'


def told_to_token(port: int, token: str) -> bytes:
    """Nothing to a good one."""
    return _answers(port, token)[0].auth_bytes


def told_at_the_end(port: int, token: str) -> tuple[int, str | None]:
    """The error, with its message, when the client confirms that its token was refused; then it is closed."""
    _, answer = _answers(port, token, b"\x01")
    return answer.error_code, answer.error_message


def _answers(port: int, token: str, *more: bytes) -> list[SaslAuthenticateResponse]:
    """To the message with the token, and to more messages."""
    messages = f"n,,\x01auth=Bearer {token}\x01\x01".encode(), *more
    requests = [SaslAuthenticateRequest(auth_bytes=message) for message in messages]
    found = []
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer, peer.makefile("rb") as answers:
        for request in (SaslHandshakeRequest(mechanism="OAUTHBEARER"), *requests):
            peer.sendall(request_frame(request, 1))
            frame = answers.read(int.from_bytes(answers.read(4), "big"))
            if isinstance(request, SaslAuthenticateRequest):
                response = response_codec(ApiKey.SASL_AUTHENTICATE, 1).decode(frame, 4)[0]
                assert isinstance(response, SaslAuthenticateResponse)
                found.append(response)
        if more:
            assert answers.read() == b"", "it is closed"
    return found
