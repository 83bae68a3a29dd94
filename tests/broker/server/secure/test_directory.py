"""The security directory: made once, kept, mended where that locks nobody out, and refused where it would."""

import json
import os
import stat
from pathlib import Path

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.server.secure.authority import authority_of, is_good, issue, new_authority
from barnabas.broker.server.secure.directory import (
    DirectoryContent,
    Security,
    SecurityError,
    directory_for,
    keep_users,
    look,
    open_security,
)
from barnabas.broker.server.secure.secure_config import hosts_of, open_for, settings_for, write_client_settings
from barnabas.protocol.files import properties

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
HOSTS = ["localhost", "127.0.0.1", "::1"]


def opened(path: Path, hosts: list[str] | None = None, now_ms: int = NOW_MS) -> Security:
    return open_security(str(path), hosts or HOSTS, now_ms, os.urandom)


def looked_at(path: Path) -> DirectoryContent:
    return look(str(path), HOSTS, NOW_MS)


def contents(path: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in path.iterdir() if each.is_file()}


def modes(path: Path) -> set[int]:
    return {stat.S_IMODE(each.stat().st_mode) for each in path.iterdir()}


def test_it_is_private_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "data.security"
    before = os.umask(0)
    try:
        write_client_settings(opened(path), "localhost:9092")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert modes(path) == {0o600}


@pytest.mark.parametrize("name", ["", "authority.key", "users.properties", "link"])
def test_files_of_another_user_are_not_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / "data.security"
    opened(path)
    if name == "link":
        (path / name).symlink_to(tmp_path)
    path.chmod(0o755)
    before = contents(path)
    if name != "link":
        (path / name).chmod(0o777)
        for use in (opened, looked_at):
            with pytest.raises(SecurityError, match=f"{path / name} is writable by other users, who .*chmod go-w"):
                use(path)
        (path / name).chmod(0o700)
    is_other = [str(path / name)]
    lstat = os.lstat

    def of_another(file: str) -> os.stat_result:
        found = lstat(file)
        return os.stat_result((*found[:4], found.st_uid + (file in is_other), *found[5:10]))

    monkeypatch.setattr(os, "lstat", of_another)
    for use in (opened, looked_at):
        with pytest.raises(SecurityError, match=f"{path / name} belongs to another user.*: remove {path}, or"):
            use(path)
    assert contents(path) == before
    is_other.clear()
    opened(path)


def test_an_empty_directory_that_others_may_write_to_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    opened(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_second_start_has_the_same_authority_certificate_and_users(tmp_path: Path) -> None:
    first = opened(tmp_path)
    before = contents(tmp_path)
    assert opened(tmp_path, now_ms=NOW_MS + DAY_MS).passwords == first.passwords
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("hosts", "later_ms"), [([*HOSTS, "broker.example"], 0), (HOSTS[:2], 0), (HOSTS, 340 * DAY_MS)]
)
def test_the_certificate_is_issued_again_for_other_hosts_and_before_it_expires(
    tmp_path: Path, hosts: list[str], later_ms: int
) -> None:
    opened(tmp_path)
    before = contents(tmp_path)
    opened(tmp_path, hosts, NOW_MS + later_ms)
    after = contents(tmp_path)
    assert [name for name in after if after[name] != before[name]] == ["broker.pem"]
    assert is_good(after["broker.pem"], authority_of(after["authority.key"]), hosts, NOW_MS + later_ms)


@pytest.mark.parametrize("name", ["broker.pem", "authority.pem"])
@pytest.mark.parametrize("content", [None, "", "half of", BROKEN])
def test_rebuildable_files_are_rebuilt(tmp_path: Path, name: str, content: str | None) -> None:
    opened(tmp_path)
    authority = (tmp_path / "authority.pem").read_text()
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    opened(tmp_path)
    assert (tmp_path / "authority.pem").read_text() == authority
    key = authority_of((tmp_path / "authority.key").read_text())
    assert is_good((tmp_path / "broker.pem").read_text(), key, HOSTS, NOW_MS)


@pytest.mark.parametrize(
    "content",
    [
        "",
        new_authority(NOW_MS).certificate_pem,
        new_authority(NOW_MS).pem.split("-----BEGIN C", 1)[0] + new_authority(NOW_MS).certificate_pem,
    ],
)
def test_a_broken_authority_is_refused_in_a_sentence(tmp_path: Path, content: str) -> None:
    opened(tmp_path)
    (tmp_path / "authority.key").write_text(content)
    with pytest.raises(SecurityError) as refused:
        opened(tmp_path)
    then = "put back a copy of it, or remove it and give clients the new authority.pem"
    assert str(refused.value) == f"{tmp_path}/authority.key is broken: {then}"
    assert (tmp_path / "authority.key").read_text() == content


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("s3cr3t", "line 4 has no =, but lines must be NAME=PASSWORD"),
        ("alice=", "line 4 has no password"),
        ("alice_1=s3cr3t_1", "line 4 has a password that is not letters and digits alone, without blanks"),
        ("alice= s3cr3t", "line 4 has a password that is not letters and digits alone, without blanks"),
        ('alice=y" user_s3cr3t="z', "line 4 has a password that is not letters and digits alone, without blanks"),
        ("a-s3cr3t=x", "line 4 has a name that is not letters, digits and _, or begins with a digit"),
        ("client=s3cr3t", "line 4 has the name of a line before it"),
    ],
)
def test_a_line_of_the_users_that_is_wrong_is_named_and_not_quoted(tmp_path: Path, line: str, told: str) -> None:
    opened(tmp_path)
    path = tmp_path / "users.properties"
    path.write_text(f"# of ours\nadmin=x\nclient=y\n{line}\n")
    with pytest.raises(SecurityError) as refused:
        opened(tmp_path)
    assert str(refused.value) == f"{path}: {told}"


@pytest.mark.parametrize(("content", "user"), [("", "admin"), ("admin=x\n", "client"), ("client=y\n", "admin")])
def test_a_user_whom_the_broker_needs_is_missed_by_name(tmp_path: Path, content: str, user: str) -> None:
    opened(tmp_path)
    (tmp_path / "users.properties").write_text(content)
    with pytest.raises(SecurityError, match=rf"users\.properties: the line {user}=PASSWORD is missing: put it back"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("name", "event"), [("authority.key", "authority created again"), ("users.properties", "users created again")]
)
def test_a_file_rebuilt_beside_others_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, event: str
) -> None:
    opened(tmp_path)
    assert caplog.messages == []
    before = (tmp_path / name).read_text()
    (tmp_path / name).unlink()
    opened(tmp_path)
    (said,) = caplog.messages
    assert said.startswith(
        f'{event} file={tmp_path}/{name} reason="the other files exist, but this one does not" then="give'
    )
    assert (tmp_path / name).read_text() != before
    opened(tmp_path)
    assert len(caplog.messages) == 1


def test_a_first_start_that_was_cut_short_before_the_users_is_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "authority.key").write_text(new_authority(NOW_MS).pem)
    opened(tmp_path)
    assert caplog.messages == []


def test_a_user_may_be_added_by_hand(tmp_path: Path) -> None:
    opened(tmp_path)
    with (tmp_path / "users.properties").open("a") as file:
        file.write("# of ours\nalice=wonderland\n")
    assert opened(tmp_path).passwords["alice"] == "wonderland"


def test_a_start_that_was_cut_short_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "authority.key.part").write_text("half of")
    security = opened(tmp_path)
    assert security.passwords.keys() == {"admin", "client"}
    assert "authority.key.part" not in contents(tmp_path)


def test_a_certificate_of_another_authority_is_not_good() -> None:
    authority, other = new_authority(NOW_MS), new_authority(NOW_MS)
    assert is_good(issue(authority, HOSTS, NOW_MS), authority, HOSTS, NOW_MS)
    assert not is_good(issue(other, HOSTS, NOW_MS), authority, HOSTS, NOW_MS)


# --- what is made of it


def test_it_lies_beside_the_data() -> None:
    assert directory_for("/a/data/") == "/a/data.security"


def test_the_certificate_names_whatever_clients_are_told() -> None:
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://:0,OTHER://10.0.0.5:0",
            "advertised.listeners": "PLAINTEXT://Broker.example:9092",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
        }
    )
    assert hosts_of(config) == ["localhost", "127.0.0.1", "::1", "10.0.0.5", "broker.example"]


def test_every_listener_speaks_sasl_ssl_under_its_own_name(tmp_path: Path) -> None:
    config = BrokerConfig(
        {
            "listeners": "PLAINTEXT://:0,OTHER://10.0.0.5:0",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
        }
    )
    settings = settings_for(opened(tmp_path), config)
    assert settings["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_SSL,OTHER:SASL_SSL"
    assert "listener.name.other.plain.sasl.jaas.config" in settings


def test_a_configuration_that_secures_itself_is_not_secured_again(tmp_path: Path) -> None:
    config = BrokerConfig({"listeners": "SSL://:0", "log.dirs": str(tmp_path / "data")})
    with pytest.raises(ConfigError, match=r"listeners has SSL \(SSL\)"):
        open_for(config, NOW_MS, os.urandom)
    assert list(tmp_path.iterdir()) == []


def test_java_is_reported_in_ascii(tmp_path: Path) -> None:
    (tmp_path / "\u00fc").mkdir()
    paths = write_client_settings(opened(tmp_path / "\u00fc"), "localhost:9092")
    found = properties.decode(Path(paths["client.properties"]).read_bytes())
    assert found["ssl.truststore.location"] == f"{tmp_path}/\u00fc/authority.pem"


def test_clients_are_told_in_their_own_words(tmp_path: Path) -> None:
    security = opened(tmp_path)
    paths = write_client_settings(security, "localhost:9092")
    for_java = Path(paths["client.properties"]).read_text()
    assert f'username="client" password="{security.passwords["client"]}";' in for_java
    assert f"ssl.truststore.location={tmp_path}/authority.pem\n" in for_java
    assert "sasl.username=client\n" in Path(paths["librdkafka.properties"]).read_text()
    assert json.loads(Path(paths["spark.json"]).read_text())["kafka.security.protocol"] == "SASL_SSL"
    assert json.loads(Path(paths["kafka-python.json"]).read_text())["bootstrap_servers"] == "localhost:9092"
    assert not any(password in repr(security) for password in security.passwords.values())


def test_users_are_written_late_and_other_lines_stay(tmp_path: Path) -> None:
    opened(tmp_path)
    file = tmp_path / "users.properties"
    file.write_text("# ours\nadmin=a1\n\nalice=old\nclient=c1\n# alice=no\n")
    before = file.read_text()
    users = {"alice": "new", "bob": "builder", "admin": "a1"}
    security = open_security(str(tmp_path), HOSTS, NOW_MS, os.urandom, users)
    assert security.passwords == {"admin": "a1", "alice": "new", "client": "c1", "bob": "builder"}
    assert file.read_text() == before
    keep_users(security)
    assert file.read_text() == before.replace("alice=old", "alice=new") + "bob=builder\n"
