"""Stock clients over SASL_SSL and SASL_PLAINTEXT: a user with just the rights that it needs, and a wrong password."""

import re
from collections.abc import Iterator

import pytest

from tests.compat.secured.clients import ALICE, CLIENTS, NEEDED, Secured, run
from tests.compat.secured.story import COMMITTED
from tests.support.probes.wire import Wire
from tests.support.security.credentials import allow, make_scram_user
from tests.support.security.secured import SASL_PLAINTEXT, SASL_SSL, secured_kind
from tests.support.source_tree import ROOT
from tests.support.waiting import until

PAGE = ROOT / "docs" / "security" / "refused.md"

WAYS = [
    *((client, SASL_SSL, "PLAIN" if client == "sarama" else "SCRAM-SHA-512") for client in CLIENTS),
    *((client, SASL_PLAINTEXT, "PLAIN") for client in CLIENTS),
    ("franz-go", SASL_SSL, "SCRAM-SHA-256"),
]


@pytest.fixture(scope="module")
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    kind = secured_kind(request.config.getoption("--against"))
    data = tmp_path_factory.mktemp("secured") / "data"
    with kind(data, listeners=(SASL_PLAINTEXT, SASL_SSL), users=(ALICE,)) as server:
        with Wire(server.port) as wire:
            make_scram_user(wire, ALICE)
            allow(wire, {ALICE: NEEDED})
        yield Secured(server)
        assert "Traceback" not in server.log, server.log


@pytest.mark.parametrize(("client", "protocol", "mechanism"), WAYS)
def test_a_client_has_a_transaction_and_a_group(secured: Secured, client: str, protocol: str, mechanism: str) -> None:
    done = run(client, secured.settings(protocol, mechanism, f"{client}-{protocol}-{mechanism}"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(COMMITTED)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_says_of_a_wrong_password_what_the_page_says(secured: Secured, client: str) -> None:
    name = "Java" if client.startswith("java") else client
    told = re.findall(rf"^\| {name}\b[^|]*\| `(.*)` \| (once|again) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    (said, tries) = told[0]
    before = secured.refused_count()
    done = run(client, secured.settings(SASL_PLAINTEXT, "PLAIN", f"{client}-wrong", "wrong-secret"))
    assert done.returncode == 1
    assert re.search(".*".join(map(re.escape, said.split("…"))), done.stderr, re.DOTALL), done.stderr
    assert "wrong-secret" not in done.stdout + done.stderr
    until(lambda: secured.refused_count() > before)
    assert ("once" if secured.refused_count() == before + 1 else "again") == tries
