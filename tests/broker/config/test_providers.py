"""Configuration providers: what a variable in a value stands for, and what is said where it stands for nothing."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas.broker.cli.serving.serve_options import load as load_options
from barnabas.broker.config import BrokerConfig, ConfigError, load_config
from barnabas.broker.config.environment import read_environment
from barnabas.broker.config.load import LoadedConfig
from barnabas.broker.config.resources.dynamic_checks import objection
from barnabas.broker.config.sasl.sasl_settings import sasl_settings
from barnabas.protocol.files.config_providers import UnresolvedError, resolved

PACKAGE = "org.apache.kafka.common.config.provider."
NAMED = {
    "config.providers": "file,dir,env",
    "config.providers.file.class": PACKAGE + "FileConfigProvider",
    "config.providers.dir.class": PACKAGE + "DirectoryConfigProvider",
    "config.providers.env.class": PACKAGE + "EnvVarConfigProvider",
}
FILES = {
    "/etc/kafka/users.properties": b'alice=al\\u0069ce-secret\nbob : ${env:BOB}\nquoted=a"b',
    "/etc/kafka/passwords/store": b"store-secret\n",
    "/etc/kafka/latin": b"key=\xe9",
}
VARIABLES = {"BOB": "bob-secret", "EMPTY": "", "HOME": "/home"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LISTENER = "listener.name.sasl_plaintext.plain.sasl.jaas.config"


def value_of(text: str, /, **params: str) -> str:
    """params: `env_allowlist_pattern` is config.providers.env.param.allowlist.pattern."""
    own = {
        f"config.providers.{name.replace('_', '.param.', 1).replace('_', '.')}": word for name, word in params.items()
    }
    return resolved({**NAMED, **own, "key": text}, read, VARIABLES)["key"]


def read(path: str) -> bytes:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory", path)
    return FILES[path]


def load(settings: Mapping[str, str], variables: Mapping[str, str] = VARIABLES) -> LoadedConfig:
    lines = [f"{name}={text}" for name, text in {**NAMED, **settings}.items()]
    return load_config(settings=lines, environment=read_environment(variables), read_file=read)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:BOB}", "bob-secret"),
        ("${env::BOB}", "bob-secret"),
        ("${env:EMPTY}", ""),
        ("${file:/etc/kafka/users.properties:alice}", "alice-secret"),
        ("${dir:/etc/kafka/passwords:store}", "store-secret\n"),  # the whole file, as in Kafka
        ("a ${env:BOB} b ${env:HOME} ${dir:/etc/kafka/passwords:store}", "a bob-secret b /home store-secret\n"),
        ("${file:/etc/kafka/users.properties:bob}", "${env:BOB}"),  # what comes out is not searched again
        ("${vault:/path:key} ${env:BOB", "${vault:/path:key} ${env:BOB"),
        ("$BOB ${BOB} RULE:^CN=(.*)$/$1/", "$BOB ${BOB} RULE:^CN=(.*)$/$1/"),
    ],
)
def test_a_variable_stands_for_what_the_provider_has(text: str, expected: str) -> None:
    assert value_of(text) == expected


def test_without_providers_values_stay_as_they_are() -> None:
    settings = {"key": "${env:BOB}", "config.providers.env.class": "no.such.Class"}
    assert resolved(settings, read, VARIABLES) == settings
    assert resolved({**settings, "config.providers": " "}, read, VARIABLES)["key"] == "${env:BOB}"


def test_the_settings_of_providers_are_taken_as_written_and_are_no_settings_of_the_broker() -> None:
    found = resolved({**NAMED, "config.providers.env.param.other": "${env:NOT_SET}", "key": "x"}, read, VARIABLES)
    assert found == {"config.providers": "file,dir,env", "key": "x"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("${env:NOT_SET}", "key: the environment variable NOT_SET is not set"),
        ("${env:path:BOB}", "key: path is a path, which an environment variable does not have: write ${provider:NAME}"),
        ("${file:/etc/kafka/users.properties:carol}", "key: /etc/kafka/users.properties has no key carol"),
        ("${file:/not/there:alice}", "key: /not/there cannot be read: No such file or directory"),
        ("${file:alice}", "key: alice has no path: write ${provider:path:key}"),
        ("${file:/etc/kafka/latin:key}", "key: /etc/kafka/latin: not a properties file in UTF-8"),
        ("${dir:/etc/kafka:latin}", "key: /etc/kafka/latin is not in UTF-8"),
        ("${dir:/etc/kafka:none}", "key: /etc/kafka/none cannot be read: No such file or directory"),
        ("${dir:/etc/kafka/passwords:../latin}", "key: '../latin' is not the name of a file in /etc/kafka/passwords"),
    ],
)
def test_a_variable_that_stands_for_nothing_is_an_error(text: str, sentence: str) -> None:
    with pytest.raises(UnresolvedError) as raised:
        value_of(text)
    assert (str(raised.value), raised.value.key) == (sentence, "key")


def test_environment_variables_are_those_that_the_pattern_matches_as_a_whole() -> None:
    assert value_of("${env:BOB}", env_allowlist_pattern="B.*") == "bob-secret"
    with pytest.raises(UnresolvedError, match=r"allowlist\.pattern does not allow the environment variable BOB"):
        value_of("${env:BOB}", env_allowlist_pattern="B")
    with pytest.raises(UnresolvedError, match=r"^config\.providers\.env\.param\.allowlist\.pattern: not a regular"):
        value_of("", env_allowlist_pattern="(")


def test_paths_are_those_under_the_allowed_ones(tmp_path: Path) -> None:
    inside, outside = tmp_path / "allowed", tmp_path / "allowed-not"
    for directory in (inside, outside):
        directory.mkdir()
        (directory / "users").write_text("alice=secret")
    (inside / "link").symlink_to(outside)
    (tmp_path / "other").symlink_to(inside)

    def read_within(allowed: str, variable: str) -> str:
        own = {f"config.providers.{name}.param.allowed.paths": allowed for name in ("file", "dir")}
        settings = {**NAMED, **own, "key": variable}
        return resolved(settings, lambda path: Path(path).read_bytes(), {})["key"]

    for allowed in (f"{inside}", f"/,{inside}/", f"{inside}/users", f"{outside}/../other"):
        assert read_within(allowed, f"${{file:{outside}/../allowed/users:alice}}") == "secret"
    assert read_within(str(inside), f"${{dir:{inside}:users}}") == "alice=secret"
    for path in (f"file:{outside}/users", f"file:{inside}/link/users", f"file:{inside}/../allowed-not/users"):
        with pytest.raises(UnresolvedError, match=r"is outside the provider's allowed\.paths"):
            read_within(str(inside), f"${{{path}:alice}}")
    with pytest.raises(UnresolvedError, match=r"is outside the provider's"):
        read_within(str(inside), f"${{dir:{outside}:users}}")
    with pytest.raises(UnresolvedError, match=rf"^key: {inside}/none cannot be read: No such file"):
        read_within(str(inside), f"${{file:{inside}/none:alice}}")
    with pytest.raises(
        UnresolvedError, match=r"^config\.providers\.file\.param\.allowed\.paths: etc is not an absolute"
    ):
        read_within("etc", "")
    with pytest.raises(UnresolvedError, match=rf"allowed\.paths: {inside}/none is not there: No such file"):
        read_within(f"{inside}/none", "")


def test_a_file_is_read_once() -> None:
    paths: list[str] = []

    def counted(path: str) -> bytes:
        paths.append(path)
        return read(path)

    text = "${file:/etc/kafka/users.properties:alice}"
    resolved({**NAMED, "a": text + text, "b": text}, counted, {})
    assert paths == ["/etc/kafka/users.properties"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"config.providers.env.class": "com.example.Vault"},
            "config.providers.env.class: com.example.Vault is not supported, only FileConfigProvider, "
            "DirectoryConfigProvider and EnvVarConfigProvider of org.apache.kafka.common.config.provider",
        ),
        (
            {"config.providers": "file, env"},
            "config.providers: ' env' is named, but config.providers. env.class is not set",
        ),
    ],
)
def test_a_provider_of_no_use_does_not_start(settings: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(settings)
    assert str(raised.value) == sentence


def test_users_in_jaas_come_from_files_and_variables() -> None:
    jaas = (
        f'{PLAIN} username="admin" password="x" user_alice="${{file:/etc/kafka/users.properties:alice}}" '
        'user_bob="${env:BOB}";'
    )
    loaded = load({"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms": "PLAIN", LISTENER: jaas})
    assert loaded.warnings == []
    assert sasl_settings(loaded.config, "SASL_PLAINTEXT").plain_users == {"alice": "alice-secret", "bob": "bob-secret"}


def test_variables_of_the_image_may_name_others_and_are_reported_where_one_is_missing() -> None:
    image = {
        "KAFKA_CONFIG_PROVIDERS": "env",
        "KAFKA_CONFIG_PROVIDERS_ENV_CLASS": PACKAGE + "EnvVarConfigProvider",
        "KAFKA_NUM_PARTITIONS": "${env:PARTITIONS}",
    }
    loaded = load_config(environment=read_environment({**image, "PARTITIONS": "7"}))
    assert (loaded.config.integer("num.partitions"), loaded.warnings) == (7, [])
    with pytest.raises(ConfigError) as raised:
        load_config(environment=read_environment(image))
    expected = "KAFKA_NUM_PARTITIONS: num.partitions: the environment variable PARTITIONS is not set"
    assert str(raised.value) == expected


@pytest.mark.parametrize("name", ["num.partitions", "listeners", "sasl.enabled.mechanisms", "process.roles"])
def test_an_error_does_not_tell_what_came_from_a_provider(name: str) -> None:
    settings = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", name: "${env:BOB}"}
    with pytest.raises(ConfigError) as raised:
        load(settings)
    assert "bob-secret" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert str(raised.value) == f"{name}: the value of ${{env:BOB}} is not valid for this key"


def test_a_file_that_is_not_small_is_not_read(tmp_path: Path) -> None:
    large, config = tmp_path / "large", tmp_path / "server.properties"
    large.write_bytes(b"key=" + b"x" * (1 << 20))
    lines = [*(f"{name}={text}" for name, text in NAMED.items()), f"broker.rack=${{file:{large}:key}}"]
    config.write_text("\n".join(lines))
    with pytest.raises(ConfigError) as raised:
        load_options({"--config": [str(config)]}, {})
    assert str(raised.value) == f"broker.rack: {large} cannot be read: File too large"


def test_a_variable_is_refused_in_a_setting_made_while_running() -> None:
    told = objection(BrokerConfig({"config.providers": "file"}), {"ssl.key.password": "${file:/a:b}"}, {})
    assert told is not None
    assert told.startswith("${file:/a:b} is not resolved while the broker runs")
    own = {"config.providers": "file", "config.providers.file.class": PACKAGE + "FileConfigProvider"}
    assert objection(BrokerConfig({}), {}, {**own, "ssl.key.password": "${file:/a:b}"}) == told
    assert objection(BrokerConfig({}), {"ssl.key.password": "${file:/a:b}"}, {}) is None


def test_a_variable_that_is_stored_already_is_no_reason_to_refuse_another_key() -> None:
    config = BrokerConfig({"config.providers": "file"})
    stored = {"ssl.key.password": "${file:/a:b}"}
    config.follow(stored, {})
    assert objection(config, {**stored, "log.retention.ms": "86400000"}, {}) is None
