"""A broker whose keys come from a server: there before the first client, and replaced while it runs."""

import asyncio
from pathlib import Path

import pytest

from tests.support.security.key_server import KeyServer
from tests.support.security.secured import OAUTHBEARER, SASL_PLAINTEXT, SecuredBroker
from tests.support.security.signing import Signer, published, signed_settings, signer
from tests.support.security.told import INVALID, told_to_token

NEXT = Signer("next")
TRIES = 100


def broker(directory: Path, url: str) -> SecuredBroker:
    settings = signed_settings(SASL_PLAINTEXT, url)
    return SecuredBroker(directory / "data", settings, mechanisms=(OAUTHBEARER,), has_authorizer=False)


async def told(server: SecuredBroker, token: str) -> bytes:
    return await asyncio.to_thread(told_to_token, server.ports[SASL_PLAINTEXT], token)


async def test_a_key_that_is_new_at_the_server_is_found(tmp_path: Path) -> None:
    async with KeyServer(published(signer())) as keys:
        server = broker(tmp_path, keys.url)
        try:
            await asyncio.to_thread(server.start)
            assert (await told(server, signer().token()), len(keys.asked)) == (b"", 1)
            keys.answer = published(signer(), NEXT)
            answers = [await told(server, NEXT.token())]
            while answers[-1] and len(answers) < TRIES:
                answers.append(await told(server, NEXT.token()))
            assert (answers[0], answers[-1], len(keys.asked)) == (INVALID, b"", 2)
            assert await asyncio.to_thread(server.stop) == 0
        finally:
            server.kill()
        assert "Traceback" not in server.log
        assert "eyJ" not in server.log, "no token is in the log"


async def test_a_file_of_keys_that_is_not_there_is_reported_at_the_start(tmp_path: Path) -> None:
    server = broker(tmp_path, (tmp_path / "none.json").as_uri())
    with pytest.raises(AssertionError, match=r"the keys of tokens at file:.*cannot be used: No such file"):
        server.start()
    assert "Traceback" not in server.log
