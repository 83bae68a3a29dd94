"""Stores that change while the broker runs: by settings, by files, and what may not follow what."""

import asyncio
import logging
import ssl
from pathlib import Path

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.resources.dynamic_checks import objection
from barnabas.broker.server.tls import LOOK_MS, Tls
from tests.support.certificates import LOCAL, Authority, Issued, authority
from tests.support.tls_peer import client_context
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import until


class Broker:
    """As much of a broker as has listeners: SSL, with its key store in a file."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.path = directory / "broker.pem"
        self.issued = authority().issue()
        self.issued.write_pem(self.path)
        self.config = BrokerConfig(
            {
                "listeners": "PLAINTEXT://:0,SSL://:0",
                "listener.name.ssl.ssl.keystore.type": "PEM",
                "listener.name.ssl.ssl.keystore.location": str(self.path),
                **{key.replace("_", "."): text for key, text in settings.items()},
            }
        )
        self.tls = Tls(self.config)
        self.clock = VirtualClock()

    def begin(self) -> None:
        self.tls.begin(self.clock, asyncio.get_running_loop())

    @property
    def context(self) -> ssl.SSLContext:
        return self.tls.endpoints["SSL"].context

    def shown(self) -> bytes | None:
        """The certificate that a client is shown now."""
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = self.context.wrap_bio(to_server, to_client, server_side=True)
        client = client_context(authority().pem).wrap_bio(to_client, to_server, server_hostname="localhost")
        for side in (client, server, client):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue  # it waits for the other side
        return client.getpeercert(binary_form=True)

    def shows(self, issued: Issued) -> bool:
        return self.shown() == ssl.PEM_cert_to_DER_cert(issued.certificate_pem)

    def change(self, **settings: str) -> str | None:
        """Settings made while running: why they may not be, or they are in force."""
        own = {f"listener.name.ssl.{key.replace('_', '.')}": text for key, text in settings.items()}
        refused = objection(self.config, own, {})
        if refused is None:
            self.config.follow(own, {})
        return refused

    async def look(self) -> None:
        """The files are looked at."""
        before = self.clock.pending_timers()
        self.clock.advance(LOOK_MS)
        await until(lambda: self.clock.pending_timers() == before)


@pytest.fixture
async def broker(tmp_path: Path) -> Broker:
    broker = Broker(tmp_path)
    broker.begin()
    return broker


async def test_only_listeners_that_speak_tls_have_an_endpoint(broker: Broker) -> None:
    assert list(broker.tls.endpoints) == ["SSL"]
    assert broker.shows(broker.issued)


async def test_another_file_is_shown_when_its_setting_is_changed(broker: Broker, tmp_path: Path) -> None:
    other = authority().issue()
    assert broker.change(ssl_keystore_location=str(other.write_pem(tmp_path / "other.pem"))) is None
    assert broker.shows(other)


async def test_a_change_that_cannot_be_is_refused_and_changes_nothing(broker: Broker, tmp_path: Path) -> None:
    refused = broker.change(ssl_keystore_location=str(tmp_path / "nowhere.pem"))
    assert refused == (
        "Validation of dynamic config update of SSLFactory failed: "
        f"ssl.keystore.location: {tmp_path / 'nowhere.pem'}: No such file or directory"
    )
    assert broker.shows(broker.issued)


@pytest.mark.parametrize(
    ("name", "hosts", "allowed", "told"),
    [
        ("other", LOCAL, "ssl_allow_dn_changes", "DistinguishedName does not match: existing={DN=CN=broker}"),
        ("broker", ("localhost",), "ssl_allow_san_changes", "SubjectAltNames do not match"),
    ],
)
async def test_a_broker_keeps_its_name_unless_it_may_change(
    tmp_path: Path, name: str, hosts: tuple[str, ...], allowed: str, told: str
) -> None:
    other = authority().issue(name, hosts)
    path = str(other.write_pem(tmp_path / "other.pem"))
    strict = Broker(tmp_path)
    strict.begin()
    refused = strict.change(ssl_keystore_location=path)
    assert refused is not None
    assert told in refused
    free = Broker(tmp_path, **{allowed: "true"})
    free.begin()
    assert free.change(ssl_keystore_location=path) is None
    assert free.shows(other)


async def test_a_trust_store_is_not_put_where_there_was_none(broker: Broker, tmp_path: Path) -> None:
    path = str(authority().write(tmp_path / "trusted.pem"))
    refused = broker.change(ssl_truststore_type="PEM", ssl_truststore_location=path)
    assert refused is not None
    assert refused.endswith("Cannot add SSL truststore to an existing listener for which no truststore was configured.")


async def test_settings_of_an_earlier_run_are_in_force_from_the_start(tmp_path: Path) -> None:
    broker, other = Broker(tmp_path), authority().issue()
    path = str(other.write_pem(tmp_path / "other.pem"))
    broker.config.follow({"listener.name.ssl.ssl.keystore.location": path}, {})
    broker.begin()
    assert broker.shows(other)


async def test_a_broken_stored_setting_leaves_the_value_given_at_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(tmp_path)
    broker.config.follow({"listener.name.ssl.ssl.keystore.location": "/nowhere.pem"}, {})
    broker.begin()
    assert broker.shows(broker.issued)
    assert "TLS settings not used listener=SSL reason=" in caplog.text


async def test_a_file_that_is_written_anew_is_shown(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "barnabas")
    await broker.look()
    other = authority().issue()
    other.write_pem(broker.path)
    await broker.look()
    assert broker.shows(other)


async def test_a_broken_file_leaves_the_old_store_and_is_reported_once(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.path.write_text("half of it")
    await broker.look()
    await broker.look()
    assert broker.shows(broker.issued)
    assert caplog.text.count("changed TLS stores not used") == 1
    broker.path.unlink()
    await broker.look()
    assert caplog.text.count("changed TLS stores not used") == 2
    other = authority().issue()
    other.write_pem(broker.path)
    await broker.look()
    assert broker.shows(other)


async def test_after_the_end_nothing_is_looked_at(broker: Broker) -> None:
    broker.tls.close()
    broker.tls.close()
    assert (broker.config.objections, broker.config.when_followed) == ([], [])
    assert broker.clock.pending_timers() == 0


def test_a_listener_that_could_let_nobody_in_is_named() -> None:
    with pytest.raises(ConfigError, match=r"listener SSL: there is no key store: set ssl\.keystore\.location"):
        Tls(BrokerConfig({"listeners": "SSL://:0"}))


async def test_another_authority_may_issue_the_next_certificate(broker: Broker) -> None:
    Authority("next").issue().write_pem(broker.path)
    await broker.look()
    with pytest.raises(ssl.SSLCertVerificationError):
        broker.shown()
