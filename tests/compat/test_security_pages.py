"""Each page of docs/security is done as it is written, from top to bottom."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.client.clock import SystemClientClock
from barnabas.client.security.settings import UnsecuredLogin
from barnabas.client.security.tokens import unsecured_token
from tests.compat.tools import Tools
from tests.support.pages.blocks import blocks_of
from tests.support.pages.reader import Reader
from tests.support.processes.server import ROOT
from tests.support.security.secured import SASL_SSL, SecuredBroker
from tests.support.security.signing import published, signer
from tests.support.security.told import INVALID, told_to_token

PAGES = sorted((ROOT / "docs" / "security").glob("*.md"))


@contextmanager
def preparing(page: str, directory: Path) -> Iterator[Mapping[str, str]]:
    """What a page takes for given: words of it, with what stands for them here."""
    if page == "sasl":
        keys = directory / "keys.json"
        keys.write_bytes(published(signer()))
        yield {"https://login.example/keys": keys.as_uri()}
    elif page == "clients":
        data = directory / "cluster" / "data"
        with SecuredBroker(
            data, listeners=(SASL_SSL,), users=("alice",), scram_users=("alice",), has_authorizer=False
        ) as cluster:
            cluster.security.authority.write(directory / "ca.pem")
            yield {"kafka.example:9093": f"127.0.0.1:{cluster.ports[SASL_SSL]}"}
    else:
        yield {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_done_as_it_is_written(page: Path, tmp_path: Path, tools: Tools) -> None:
    blocks = [block for block in blocks_of(page) if block.needs is None]
    assert blocks
    with preparing(page.stem, tmp_path) as replaced, Reader(tmp_path, tools.run, replaced) as reader:
        for block in blocks:
            reader.do(block)


def test_tokens_are_taken_as_the_page_on_sasl_says(tmp_path: Path, tools: Tools) -> None:
    """Of the brokers that it starts for OAUTHBEARER one takes those that are signed, and one those that are not."""
    good = signer().token(iss="https://login.example")
    nobodys = unsecured_token(UnsecuredLogin((("sub", "alice"),)), SystemClientClock().now_ms())[0]
    blocks = blocks_of(ROOT / "docs" / "security" / "sasl.md")
    told = []
    with preparing("sasl", tmp_path) as replaced, Reader(tmp_path, tools.run, replaced) as reader:
        for block in blocks:
            if block.section == "Tokens of OAUTHBEARER" and block.kind in ("properties", "sh"):
                reader.do(block)
                if block.kind == "sh":
                    told.append([told_to_token(reader.port("9092"), token) for token in (good, nobodys)])
    assert told == [[b"", INVALID], [INVALID, b""]]
