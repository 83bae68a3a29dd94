"""The variables of images that name files of TLS."""

from pathlib import Path

import pytest

from barnabas.broker.cli.serving.serve_options import load
from barnabas.broker.config.broker_config import ConfigError
from barnabas.broker.config.definitions.secrets import with_secrets

NAMED = {
    "KAFKA_SSL_KEYSTORE_FILENAME": "kafka01.keystore.jks",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "kafka_keystore_creds",
    "KAFKA_SSL_KEY_CREDENTIALS": "kafka_ssl_key_creds",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "kafka.truststore.jks",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "kafka_truststore_creds",
}


def test_files_lie_where_images_have_them() -> None:
    found = with_secrets(NAMED, {f"/etc/kafka/secrets/{name}": f"of {name}\n" for name in NAMED.values()}.__getitem__)
    assert found["KAFKA_SSL_KEYSTORE_LOCATION"] == "/etc/kafka/secrets/kafka01.keystore.jks"
    assert found["KAFKA_SSL_TRUSTSTORE_LOCATION"] == "/etc/kafka/secrets/kafka.truststore.jks"
    assert found["KAFKA_SSL_KEYSTORE_PASSWORD"] == "of kafka_keystore_creds"
    assert found["KAFKA_SSL_KEY_PASSWORD"] == "of kafka_ssl_key_creds"
    assert found["KAFKA_SSL_TRUSTSTORE_PASSWORD"] == "of kafka_truststore_creds"


def test_a_start_reads_them(tmp_path: Path) -> None:
    for name in NAMED.values():
        (tmp_path / name).write_text("secret\n")
    loaded = load({"--set": ["listeners=SSL://:0"]}, {**NAMED, "BARNABAS_SECRETS_DIR": str(tmp_path)})
    assert loaded.config.value("ssl.keystore.location") == str(tmp_path / "kafka01.keystore.jks")
    assert loaded.config.value("ssl.truststore.password") == "secret"
    assert loaded.warnings == []


def test_a_file_that_is_not_there_refuses_to_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"KAFKA_SSL_KEY_CREDENTIALS: .*creds cannot be read"):
        load({}, {"KAFKA_SSL_KEY_CREDENTIALS": "creds", "BARNABAS_SECRETS_DIR": str(tmp_path)})


def test_a_location_that_is_given_twice_refuses_to_start() -> None:
    both = {"KAFKA_SSL_KEYSTORE_FILENAME": "a", "KAFKA_SSL_KEYSTORE_LOCATION": "b"}
    with pytest.raises(ValueError, match="KAFKA_SSL_KEYSTORE_FILENAME and KAFKA_SSL_KEYSTORE_LOCATION are one setting"):
        with_secrets(both, str)
